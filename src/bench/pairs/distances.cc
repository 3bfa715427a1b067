#include "bench/pairs/distances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/sets.h"
#include "base/text/text.h"
#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

// Of the best pace of both nodes: a pair that reaches so much of it is within a group, and what is
// between groups reaches less.
constexpr double near_share = 0.7;

double slower_pace(const Measured& pair) {
  return std::min(pace(pair, 0, Figure::rate), pace(pair, 1, Figure::rate));
}

constexpr int most_decimals = 6;
// Racks that reach less than this share of what their own nodes reach are slower with each other.
constexpr double equal_share = 0.7;

// How many levels of domains lie between two nodes; on one host fewer than inside a domain.
constexpr int on_one_host = -1;

struct Pairs {
  std::vector<double> gbps;
  std::map<std::size_t, std::size_t> by_round;
  std::vector<std::size_t> parts;
};

int steps_between(const Cluster& cluster, const Domains& domains, const Measured& pair) {
  if (cluster.host_of(pair.a) == cluster.host_of(pair.b)) return on_one_host;
  const std::size_t depth = std::max(domains.of(pair.a).size(), domains.of(pair.b).size());
  return static_cast<int>(depth - domains.shared(pair.a, pair.b));
}

// "rack", or the first word of what the places are called.
std::string word_of(const Cluster& cluster) {
  if (cluster.levels.empty()) return "rack";
  return std::string(words(cluster.levels.back()).front());
}

std::string name_of(const Cluster& cluster, bool has_places, int steps) {
  if (steps == on_one_host) return "on one host";
  if (!has_places) return "all pairs";
  const std::string word = word_of(cluster);
  if (steps == 0) return "inside a " + word;
  const std::string between = fmt::format("between {}s", word);
  if (steps == 1) return between;
  return fmt::format("{}, {} further up", between,
                     counted(static_cast<std::size_t>(steps - 1), "level"));
}

void add_part(std::vector<std::size_t>& parts, std::span<const std::size_t> domains) {
  if (domains.empty()) return;
  const auto at = std::ranges::lower_bound(parts, domains.back());
  if (at == parts.end() || *at != domains.back()) parts.insert(at, domains.back());
}

std::string range_text(const Distance& distance) {
  const std::string least = figure_text(distance.least);
  const std::string most = figure_text(distance.most);
  if (least == most) return least + " Gbps";
  const std::string range = fmt::format("{} to {} Gbps", least, most);
  if (distance.pairs == 1) return range;
  return fmt::format("{}, median {}", range, figure_text(distance.median));
}

std::string count_text(const Distance& distance) {
  const std::string pairs = counted(distance.pairs, "pair");
  return distance.at_once < 2 ? pairs : fmt::format("{}, {} at a time", pairs, distance.at_once);
}

// "racks" of "between racks".
std::string_view kinds_of(std::string_view name) {
  return name.substr(name.find(' ') + 1);
}

// Two racks have one way to each other, and nothing tells which end of it is slow.
bool is_open(const Distance& inside, const Distance& between) {
  return between.parts.size() == 2 && between.median < equal_share * inside.median;
}

}  // namespace

std::vector<SpeedGroup> speed_groups(std::size_t nodes, std::span<const Measured> measured) {
  std::vector<double> best(nodes);
  for (const Measured& pair : measured) {
    for (const std::size_t node : {pair.a, pair.b}) {
      best[node] = std::max(best[node], slower_pace(pair));
    }
  }
  DisjointSets sets(nodes);
  for (const Measured& pair : measured) {
    const double reached = slower_pace(pair);
    if (reached > 0 && reached >= near_share * std::max(best[pair.a], best[pair.b])) {
      sets.join(pair.a, pair.b);
    }
  }
  std::vector<std::vector<double>> inside(nodes);  // by set
  std::vector<std::vector<double>> outside(nodes);
  for (const Measured& pair : measured) {
    const std::size_t a = sets.find(pair.a);
    const std::size_t b = sets.find(pair.b);
    if (a == b) {
      inside[a].push_back(slower_pace(pair));
    } else {
      outside[a].push_back(slower_pace(pair));
      outside[b].push_back(slower_pace(pair));
    }
  }
  std::vector<SpeedGroup> groups;
  for (std::size_t set = 0; set < nodes; ++set) {
    if (inside[set].empty() || outside[set].empty()) continue;
    SpeedGroup group{{}, bench::median(inside[set]), bench::median(outside[set])};
    if (group.outside >= near_share * group.inside) continue;
    for (std::size_t node = 0; node < nodes; ++node) {
      if (sets.find(node) == set) group.nodes.push_back(node);
    }
    groups.push_back(std::move(group));
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

std::vector<DomainPath> places_of(const Cluster& cluster, std::span<const SpeedGroup> groups) {
  std::vector<DomainPath> places(cluster.names.size());
  for (const SpeedGroup& group : groups) {
    for (const std::size_t node : group.nodes) places[node] = {cluster.names[group.nodes.front()]};
  }
  return places;
}

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

bool Domains::has_pairs(std::size_t shared, std::size_t count) const {
  for (std::size_t a = 0; a < nodes(); ++a) {
    for (std::size_t b = a + 1; b < nodes() && count > 0; ++b) {
      if (this->shared(a, b) == shared) --count;
    }
  }
  return count == 0;
}

std::vector<Distance> distances(const Cluster& cluster, std::span<const Measured> measured) {
  const Domains domains(cluster);
  std::map<int, Pairs> by_steps;
  for (const Measured& pair : measured) {
    if (pair.state != State::measured) continue;
    Pairs& all = by_steps[steps_between(cluster, domains, pair)];
    all.gbps.insert(all.gbps.end(), {pair.gbps_ab, pair.gbps_ba});
    ++all.by_round[pair.round];
    add_part(all.parts, domains.of(pair.a));
    add_part(all.parts, domains.of(pair.b));
  }
  std::vector<Distance> out;
  for (auto& [steps, all] : by_steps) {
    Distance& distance = out.emplace_back();
    distance.name = name_of(cluster, domains.size() > 0, steps);
    distance.pairs = all.gbps.size() / directions;
    for (const auto& [round, count] : all.by_round) {
      distance.at_once = std::max(distance.at_once, count);
    }
    distance.parts = std::move(all.parts);
    const auto [least, most] = std::ranges::minmax(all.gbps);
    distance.least = least;
    distance.most = most;
    distance.median = bench::median(std::move(all.gbps));
  }
  return out;
}

std::vector<std::string> distance_lines(std::span<const Distance> distances, bool is_found) {
  std::size_t widest = 0;
  for (const Distance& distance : distances) widest = std::max(widest, distance.name.size());
  std::vector<std::string> lines;
  for (const Distance& distance : distances) {
    lines.push_back(fmt::format("{:<{}}  {} ({})", distance.name, widest, range_text(distance),
                                count_text(distance)));
  }
  for (std::size_t i = 1; i < distances.size() && !is_found; ++i) {
    if (!is_open(distances[i - 1], distances[i])) continue;
    lines.push_back(
        fmt::format("with only two {} toprun cannot tell which uplink is slow, or whether both are "
                    "this slow by design",
                    kinds_of(distances[i].name)));
  }
  return lines;
}

std::string figure_text(double value) {
  if (value <= 0) return "0";
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(value)));
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 0, most_decimals));
}

}  // namespace toprun::pairs
