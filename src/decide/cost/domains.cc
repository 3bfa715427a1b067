#include "decide/cost/domains.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/text/text.h"

namespace toprun::cost {
namespace {

// A domain is identified by its name and the number of the domain around it: "r1" in two clusters
// means two racks. Nodes without a domain at this level share a number if they share the domain
// around it.
struct Key {
  enum class Kind : std::uint32_t { named, none, unknown };  // in the order of their places

  std::uint32_t outer = 0;
  Kind kind = Kind::unknown;
  std::string_view name;

  bool known() const { return kind != Kind::unknown; }
  bool operator==(const Key&) const = default;
};

Key key_of(std::uint32_t outer, const topology::Domain& domain) {
  if (domain) return {outer, Key::Kind::named, *domain};
  return {outer, domain.is_none() ? Key::Kind::none : Key::Kind::unknown, {}};
}

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    constexpr std::size_t odd =
        0x9e3779b97f4a7c15;  // the golden ratio's fraction, to spread `outer`
    return std::hash<std::string_view>()(key.name) ^
           (key.outer * 4 + static_cast<std::uint32_t>(key.kind)) * odd;
  }
};

// The domains of one level, numbered in the order of their first occurrence.
class Numbers {
 public:
  // `seat`: the seat of one of the domain's nodes.
  std::uint32_t of(const Key& key, std::size_t seat) {
    const auto [it, is_new] = found_.emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (is_new) {
      keys_.push_back(key);
      seats_.push_back(seat);
    }
    seats_[it->second] = std::min(seats_[it->second], seat);
    return it->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

  // The place of each domain in natural order. Domains around it come first; `outer` contains their
  // places.
  std::vector<std::uint32_t> places(const std::vector<std::uint32_t>& outer) const {
    std::vector<std::uint32_t> sorted(keys_.size());
    std::iota(sorted.begin(), sorted.end(), 0u);
    std::ranges::sort(sorted, [&](std::uint32_t i, std::uint32_t j) {
      const Key& a = keys_[i];
      const Key& b = keys_[j];
      if (a.outer != b.outer) return outer[a.outer] < outer[b.outer];
      if (a.kind != b.kind) return a.kind < b.kind;
      if (seats_[i] != seats_[j]) return seats_[i] < seats_[j];
      return natural_less(a.name, b.name);
    });
    std::vector<std::uint32_t> place_of(keys_.size());
    for (std::uint32_t i = 0; i < sorted.size(); ++i) place_of[sorted[i]] = i;
    return place_of;
  }

 private:
  std::unordered_map<Key, std::uint32_t, KeyHash> found_;
  std::vector<Key> keys_;
  std::vector<std::size_t> seats_;  // of each domain's first node
};

}  // namespace

Domains::Domains(std::span<const topology::Path* const> paths, std::size_t levels)
    : levels_(levels), domain_(paths.size() * levels), place_(paths.size() * levels) {
  // Each path has its own block of memory. Nodes that share a path in memory get the numbers of the
  // first of them.
  std::vector<Numbers> numbers(levels);
  std::unordered_map<const void*, std::size_t> first_of;
  for (std::size_t node = 0; node < paths.size(); ++node) {
    const auto [first, is_new] = first_of.emplace(paths[node]->identity(), node);
    if (!is_new) {
      std::copy_n(place_.data() + first->second * levels, levels, place_.data() + node * levels);
      continue;
    }
    std::uint32_t outer = 0;
    for (std::size_t level = 0; level < levels; ++level) {
      outer = numbers[level].of(key_of(outer, (*paths[node])[level]), paths[node]->seat());
      place_[node * levels + level] = outer;
    }
  }
  std::vector<std::uint32_t> places = {0};  // of the domain around the outermost level
  for (std::size_t level = 0; level < levels; ++level) {
    places = numbers[level].places(places);
    const auto& keys = numbers[level].keys();
    // these numbers belong to no known domain
    auto unknown = static_cast<std::uint32_t>(keys.size());
    for (std::size_t at = level; at < place_.size(); at += levels) {
      const Key& key = keys[place_[at]];
      place_[at] = places[place_[at]];
      domain_[at] = key.known() ? place_[at] : unknown++;
    }
    const auto known = static_cast<std::size_t>(std::ranges::count_if(keys, &Key::known));
    count_.push_back(known + unknown - keys.size());
    std::vector<bool> own(unknown, true);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].kind == Key::Kind::none) own[places[i]] = false;
    }
    own_.push_back(std::move(own));
  }
}

std::size_t Domains::crossings(std::span<const std::size_t> order, std::size_t level) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t next = order[(i + 1) % order.size()];
    if (domain(order[i], level) != domain(next, level)) ++count;
  }
  return count;
}

}  // namespace toprun::cost
