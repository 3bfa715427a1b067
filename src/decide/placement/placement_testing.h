#pragma once

#include <string>
#include <vector>

#include "decide/placement/order.h"

namespace toprun::placement {

inline std::vector<std::string> names_in_order(const Placement& placement) {
  std::vector<std::string> names;
  for (const Node& node : placement.nodes) names.push_back(node.name);
  return names;
}

}  // namespace toprun::placement
