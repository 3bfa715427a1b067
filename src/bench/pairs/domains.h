#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/measured.h"

namespace toprun::pairs {

// The numbered domains of a cluster. Two racks with the name r1 in different pods are different
// domains.
class Domains {
 public:
  struct Domain {
    std::size_t depth = 1;  // 1: outermost
    DomainPath path;        // the names of the domain and its parents, outermost first
    std::vector<std::size_t> nodes;
  };

  explicit Domains(const Cluster& cluster);

  std::size_t size() const { return domains_.size(); }
  std::size_t nodes() const { return of_.size(); }
  const Domain& operator[](std::size_t domain) const { return domains_[domain]; }
  // The domains of a node, outermost first.
  std::span<const std::size_t> of(std::size_t node) const { return of_[node]; }
  // The number of domains that two nodes share.
  std::size_t shared(std::size_t a, std::size_t b) const;

 private:
  std::vector<Domain> domains_;
  std::vector<std::vector<std::size_t>> of_;
};

}  // namespace toprun::pairs
