#include "placement/domains.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/text.h"

namespace toprun::placement {
namespace {

// A domain is its name and the place of the domain around it: "r1" of two clusters are two racks.
struct Key {
  std::uint32_t outer = 0;
  bool known = false;
  std::string_view name;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    constexpr std::size_t odd =
        0x9e3779b97f4a7c15;  // the golden ratio's fraction, to spread `outer`
    return std::hash<std::string_view>()(key.name) ^ (key.outer * 2 + (key.known ? 1 : 0)) * odd;
  }
};

bool before(const Key& a, const Key& b) {
  if (a.outer != b.outer) return a.outer < b.outer;
  if (a.known != b.known) return a.known;
  return natural_less(a.name, b.name);
}

}  // namespace

Domains::Domains(std::span<const topology::Path* const> paths, std::size_t levels)
    : levels_(levels), domain_(paths.size() * levels), place_(paths.size() * levels) {
  for (std::size_t level = 0; level < levels; ++level) number_level(paths, level);
}

void Domains::number_level(std::span<const topology::Path* const> paths, std::size_t level) {
  std::unordered_map<Key, std::uint32_t, KeyHash> found;
  std::vector<Key> keys;
  std::vector<std::uint32_t> key_of(paths.size());
  for (std::size_t node = 0; node < paths.size(); ++node) {
    const auto& name = (*paths[node])[level];
    const Key key{level == 0 ? 0 : place(node, level - 1), name.has_value(),
                  name ? std::string_view(*name) : std::string_view()};
    const auto [it, is_new] = found.emplace(key, static_cast<std::uint32_t>(keys.size()));
    if (is_new) keys.push_back(key);
    key_of[node] = it->second;
  }
  std::vector<std::uint32_t> sorted(keys.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::ranges::sort(sorted, [&](auto a, auto b) { return before(keys[a], keys[b]); });
  std::vector<std::uint32_t> place_of(keys.size());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) place_of[sorted[i]] = i;

  const auto known = std::ranges::count_if(keys, &Key::known);
  auto unknown = static_cast<std::uint32_t>(keys.size());  // numbers no key has
  for (std::size_t node = 0; node < paths.size(); ++node) {
    const std::size_t at = node * levels_ + level;
    place_[at] = place_of[key_of[node]];
    domain_[at] = keys[key_of[node]].known ? place_[at] : unknown++;
  }
  count_.push_back(static_cast<std::size_t>(known) + unknown - keys.size());
}

std::size_t Domains::crossings(std::span<const std::size_t> order, std::size_t level) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t next = order[(i + 1) % order.size()];
    if (domain(order[i], level) != domain(next, level)) ++count;
  }
  return count;
}

}  // namespace toprun::placement
