#include "bench/pairs/domains.h"

#include <algorithm>
#include <map>

namespace toprun::pairs {

Domains::Domains(const Cluster& cluster) : of_(cluster.names.size()) {
  std::map<DomainPath, std::size_t> known;
  for (std::size_t node = 0; node < cluster.places.size(); ++node) {
    DomainPath path;
    for (const std::string& name : cluster.places[node]) {
      path.push_back(name);
      const auto [entry, added] = known.emplace(path, domains_.size());
      if (added) domains_.push_back({path.size(), path, {}});
      domains_[entry->second].nodes.push_back(node);
      of_[node].push_back(entry->second);
    }
  }
}

std::size_t Domains::shared(std::size_t a, std::size_t b) const {
  const auto& one = of_[a];
  const auto& other = of_[b];
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

}  // namespace toprun::pairs
