#pragma once

#include <string>
#include <vector>

#include "placement/order.h"

namespace toprun::placement {

inline std::vector<std::string> order_of(const Placement& placement) {
  std::vector<std::string> names;
  for (const Node& node : placement.nodes) names.push_back(node.name);
  return names;
}

}  // namespace toprun::placement
