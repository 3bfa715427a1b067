#include "decide/cost/double_tree.h"

#include <algorithm>

namespace toprun::cost {
namespace {

std::size_t parent_of(std::size_t position, std::size_t count) {
  if (position == 0) return 0;
  const std::size_t lowest = position & (~position + 1);
  const std::size_t rest = position ^ lowest;
  const std::size_t up = rest | (lowest << 1);
  return up < count ? up : rest;
}

}  // namespace

DoubleTree::DoubleTree(std::size_t count) : cut_off_(count + 1) {
  parent[0].resize(count);
  parent[1].resize(count);
  std::vector<std::size_t> size(count, 1), depths(count), neighbours(count);
  const auto other = [&](std::size_t i) {
    return count % 2 == 0 ? count - 1 - i : (i + 1) % count;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t up = parent_of(i, count);
    parent[0][i] = up;
    parent[1][other(i)] = other(up);
    if (i == 0) continue;
    for (const std::size_t end : {i, up, other(i), other(up)}) ++neighbours[end];
  }
  // A parent's lowest bit is above its children's.
  std::size_t bit = 1;
  for (; bit < count; bit <<= 1) {
    for (std::size_t i = bit; i < count; i += bit << 1) size[parent[0][i]] += size[i];
  }
  while ((bit >>= 1) > 0) {
    for (std::size_t i = bit; i < count; i += bit << 1) {
      depths[i] = depths[parent[0][i]] + 1;
      cut_off_[size[i]] = cut_off_[count - size[i]] = true;
      depth = std::max(depth, depths[i]);
    }
  }
  if (count > 0) most_neighbours = std::ranges::max(neighbours);
}

std::size_t DoubleTree::fewest_leaving(std::size_t group) const {
  if (group == 0 || group + 1 >= cut_off_.size()) return 0;
  return cut_off_[group] ? 1 : 2;
}

}  // namespace toprun::cost
