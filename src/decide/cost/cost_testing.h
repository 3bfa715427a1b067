#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "decide/cost/cost.h"

// Small networks for tests.
namespace toprun::cost {

using Indexes = std::vector<std::size_t>;

// One word per node. Each letter is the domain at one level, outermost first, as in "ap aq bp".
// "-": unknown, ".": no domain.
struct Sample {
  std::vector<std::string> levels;
  std::string nodes;
  LinksByLevel links;
  int processes = 1;
  std::map<std::string, std::map<std::string, double>> domain_gbps = {};  // as in topology::Map
};

inline topology::Map map_of(const Sample& sample) {
  topology::Map map;
  map.levels = sample.levels;
  map.domain_gbps = sample.domain_gbps;
  for (const std::string_view word : words(sample.nodes)) {
    topology::Path path;
    for (const char c : word) {
      path.push_back(c == '-'   ? topology::Domain()
                     : c == '.' ? topology::Domain::none()
                                : topology::Domain(std::string(1, c)));
    }
    map.hosts.push_back({fmt::format("n{}", map.hosts.size()), {std::move(path), "here", {}}});
  }
  return map;
}

inline Network network_of(const Sample& sample) {
  const topology::Map map = map_of(sample);
  std::vector<const topology::Path*> paths;
  for (const auto& entry : map.hosts) paths.push_back(&entry.location.path);
  return {Domains(paths, map.levels.size()), paths, *links_of(map, sample.links, sample.processes)};
}

inline Indexes in_order(std::size_t count) {
  Indexes order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

inline Sample random_sample(std::mt19937& random) {
  Sample sample;
  sample.levels = {"spine", "leaf", "rack"};
  sample.levels.resize(1 + random() % 3);
  if (random() % 3 == 0) sample.levels[random() % sample.levels.size()] = "nvlink";
  for (const std::string& level : sample.levels) {
    if (random() % 4 == 0 || level == "nvlink") continue;
    sample.links[level] = {static_cast<double>(100 * (1 + random() % 8)), {}};
  }
  // No different rates with NVLink: with them, perhaps no order is as fast as a ring's bound.
  const bool has_rates = random() % 3 == 0 && std::ranges::count(sample.levels, "nvlink") == 0;
  for (const std::string& level : sample.levels) {
    if (!has_rates || random() % 3 == 0) continue;
    sample.links.erase(level);
    for (const char* domain : {"a", "b", "c"}) {
      sample.domain_gbps[level][domain] = static_cast<double>(100 * (random() % 8));
    }
  }
  const std::size_t count = 1 + random() % 6 + (random() % 4 == 0 ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t level = 0; level < sample.levels.size(); ++level) {
      sample.nodes += "aabbc-"[random() % 6];
    }
    sample.nodes += ' ';
  }
  return sample;
}

}  // namespace toprun::cost
