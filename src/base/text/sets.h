#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace toprun {

// Disjoint sets of the numbers 0 … count − 1, which can only be joined.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  // Returns the lowest number in the set that contains `i`.
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

// Sorts the values and removes repeated ones.
template <class Value>
void sort_distinct(std::vector<Value>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

}  // namespace toprun
