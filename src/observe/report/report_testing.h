#pragma once

#include <string>
#include <utility>
#include <vector>

#include "decide/placement/order.h"

namespace toprun::report {

// A placement with one process on each host; the other hosts have no place.
inline placement::Placement placement_of(
    std::vector<std::string> levels,
    const std::vector<std::pair<std::string, topology::Path>>& places,
    const std::vector<std::string>& others = {}) {
  topology::Map map{"test", std::move(levels), {}, {}};
  std::vector<placement::Host> hosts;
  for (const auto& [host, path] : places) {
    hosts.push_back({host, 1});
    map.hosts.push_back({host, {path, "here", {}}});
  }
  for (const std::string& host : others) hosts.push_back({host, 1});
  return *place(hosts, map);
}

}  // namespace toprun::report
