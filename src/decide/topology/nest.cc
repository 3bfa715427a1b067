#include "decide/topology/nest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace toprun::topology {
namespace {

using Index = std::size_t;
constexpr Index no_index = std::numeric_limits<Index>::max();

// The division of the hosts at one level of one map.
struct Level {
  std::string name;
  std::vector<Index> domain_of;  // by host; no_index: unknown
  std::size_t domains = 0;
};

// One of the two maps over the hosts of both.
struct Side {
  std::string source;
  std::vector<Level> levels;
  std::vector<Location*> places;  // by host; null: not in this map

  const Domain& domain(Index level, Index host) const { return places[host]->path[level]; }
};

// Numbers the domains of all levels. The outer domains are part of a domain's identity: two racks
// "1" may be in two rooms.
std::vector<Level> levels_of(const Map& map, const std::vector<Location*>& places) {
  std::vector<Level> levels;
  std::vector<Index> around(places.size(), 0);
  for (Index i = 0; i < map.levels.size(); ++i) {
    Level level{map.levels[i], std::vector<Index>(places.size(), no_index), 0};
    std::unordered_map<std::string, Index> numbers;
    for (Index host = 0; host < places.size(); ++host) {
      if (!places[host]) continue;
      const auto& name = places[host]->path[i];
      const std::string key = fmt::format("{}{}{}", around[host], name ? '/' : ' ', *name);
      around[host] = numbers.emplace(key, numbers.size()).first->second;
      if (name) level.domain_of[host] = around[host];
    }
    level.domains = numbers.size();
    levels.push_back(std::move(level));
  }
  return levels;
}

// Whether each domain of `inner` lies in one domain of `outer`, as far as known.
struct Inside {
  bool holds = true;
  bool by_pairs = false;  // whether two hosts of one domain are known to be in one of `outer`
  bool by_all = true;     // whether all hosts of `inner` are known to `outer`
  // by domain of `inner`: one of its hosts with a known place in `outer`
  std::vector<Index> sample;
  Index host = no_index;  // two hosts of one domain of `inner` that are in two of `outer`
  Index other = no_index;
};

Inside inside(const Level& inner, const Level& outer) {
  Inside found;
  found.sample.assign(inner.domains, no_index);
  for (Index host = 0; host < inner.domain_of.size(); ++host) {
    const Index domain = inner.domain_of[host];
    if (domain == no_index) continue;
    found.by_all = found.by_all && outer.domain_of[host] != no_index;
    if (outer.domain_of[host] == no_index) continue;
    Index& sample = found.sample[domain];
    if (sample == no_index) {
      sample = host;
      continue;
    }
    if (outer.domain_of[sample] == outer.domain_of[host]) found.by_pairs = true;
    if (!found.holds || outer.domain_of[sample] == outer.domain_of[host]) continue;
    found.holds = false;
    found.host = sample;
    found.other = host;
  }
  return found;
}

// The order of levels by their names, for levels that the hosts do not order: a greater rank is
// further out.
int rank_of(std::string_view name) {
  if (name == "region") return 3;
  if (name == "zone") return 2;
  return name == nvlink_level ? 0 : 1;
}

// A level of the combined tree, from one map or from both.
struct Joint {
  Index first = no_index;
  Index second = no_index;
  std::vector<Index> sample;  // if from both: by the second's domain, a host that the first knows
};

enum class Relation { same, first_outside, second_outside, conflict };

class Nesting {
 public:
  Nesting(Map first, Map second) : maps_{std::move(first), std::move(second)} {
    std::unordered_map<std::string, Index> index;
    for (Map& map : maps_) {
      for (const Map::Entry& entry : map.hosts) {
        if (index.emplace(entry.host, hosts_.size()).second) hosts_.push_back(entry.host);
      }
    }
    for (Index i = 0; i < 2; ++i) {
      Side& side = sides_[i];
      side.source = maps_[i].source;
      side.places.assign(hosts_.size(), nullptr);
      for (Map::Entry& entry : maps_[i].hosts) {
        if (entry.location.path.known()) side.places[index.at(entry.host)] = &entry.location;
      }
      side.levels = levels_of(maps_[i], side.places);
    }
  }

  Result<Map> run() {
    TRY(order_levels());
    if (joints_.size() > max_levels) {
      return usage(fmt::format("{} and {} together", sides_[0].source, sides_[1].source),
                   fmt::format("the two sources have more than {} levels", max_levels),
                   "choose one source with --topology");
    }
    Map map{fmt::format("{} + {}", sides_[0].source, sides_[1].source), names(), {}, {}, {}};
    map.hosts.reserve(hosts_.size());
    for (Index host = 0; host < hosts_.size(); ++host) {
      Location location{path_of(host), evidence_of(host), written_of(host)};
      map.hosts.push_back({hosts_[host], std::move(location)});
    }
    map.links = std::move(maps_[0].links);
    map.links.merge(std::move(maps_[1].links));
    map.domain_gbps = std::move(maps_[0].domain_gbps);
    map.domain_gbps.merge(std::move(maps_[1].domain_gbps));
    for (Map& old : maps_) {
      std::ranges::move(old.warnings, std::back_inserter(map.warnings));
      std::ranges::move(old.notes, std::back_inserter(map.notes));
    }
    return map;
  }

 private:
  const Level& first(Index i) const { return sides_[0].levels[i]; }
  const Level& second(Index i) const { return sides_[1].levels[i]; }

  // Both lists go from the outermost to the innermost level, so only their heads need comparing.
  Result<void> order_levels() {
    Index i = 0;
    Index k = 0;
    while (i < sides_[0].levels.size() && k < sides_[1].levels.size()) {
      const Inside first_inside = inside(first(i), second(k));
      Inside second_inside = inside(second(k), first(i));
      switch (relation(i, k, first_inside, second_inside)) {
        case Relation::same:
          joints_.push_back({i++, k++, std::move(second_inside.sample)});
          break;
        case Relation::first_outside:
          joints_.push_back({i++, no_index, {}});
          break;
        case Relation::second_outside:
          joints_.push_back({no_index, k++, {}});
          break;
        case Relation::conflict:
          return conflict(i, k, first_inside, second_inside);
      }
    }
    for (; i < sides_[0].levels.size(); ++i) joints_.push_back({i, no_index, {}});
    for (; k < sides_[1].levels.size(); ++k) joints_.push_back({no_index, k, {}});
    return {};
  }

  Relation relation(Index i, Index k, const Inside& first_inside,
                    const Inside& second_inside) const {
    if (!first_inside.holds && !second_inside.holds) return Relation::conflict;
    if (!first_inside.holds) return Relation::first_outside;
    if (!second_inside.holds) return Relation::second_outside;
    const std::string& name = first(i).name;
    const std::string& other = second(k).name;
    if (name == other) return Relation::same;
    if (has_below(sides_[0], i, other)) return Relation::first_outside;
    if (has_below(sides_[1], k, name)) return Relation::second_outside;
    if (rank_of(name) != rank_of(other)) {
      return rank_of(name) > rank_of(other) ? Relation::first_outside : Relation::second_outside;
    }
    const bool all_known = first_inside.by_all && second_inside.by_all;
    return first_inside.by_pairs || all_known ? Relation::same : Relation::first_outside;
  }

  static bool has_below(const Side& side, Index level, std::string_view name) {
    return std::any_of(side.levels.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                       side.levels.end(), [&](const Level& l) { return l.name == name; });
  }

  std::unexpected<Error> conflict(Index i, Index k, const Inside& first_inside,
                                  const Inside& second_inside) const {
    return fail(fmt::format("{} and {} contradict each other", sides_[0].source, sides_[1].source),
                fmt::format("{}, and {}", spread(0, i, 1, k, first_inside),
                            spread(1, k, 0, i, second_inside)),
                "choose one source with --topology");
  }

  // "n0 and n1 share leaf L0 (slurm) but not rack (gcp: r0 and r1)"
  std::string spread(Index a, Index level, Index b, Index other, const Inside& broken) const {
    const Side& one = sides_[a];
    const Side& two = sides_[b];
    return fmt::format("{} and {} share {} {} ({}) but not {} ({}: {} and {})", hosts_[broken.host],
                       hosts_[broken.other], one.levels[level].name,
                       *one.domain(level, broken.host), one.source, two.levels[other].name,
                       two.source, *two.domain(other, broken.host),
                       *two.domain(other, broken.other));
  }

  // A level whose name is already used gets its source as a prefix.
  std::vector<std::string> names() const {
    std::vector<std::string> taken;
    for (const Joint& joint : joints_) {
      if (joint.first != no_index) taken.push_back(first(joint.first).name);
    }
    std::vector<std::string> all;
    for (const Joint& joint : joints_) {
      if (joint.first != no_index) {
        all.push_back(first(joint.first).name);
        continue;
      }
      const std::string& name = second(joint.second).name;
      const bool clashes = std::ranges::find(taken, name) != taken.end();
      all.push_back(clashes ? fmt::format("{}-{}", sides_[1].source, name) : name);
    }
    return all;
  }

  Path path_of(Index host) const {
    Path path;
    for (const Joint& joint : joints_) {
      Domain domain;
      if (joint.first != no_index && sides_[0].places[host]) {
        domain = sides_[0].domain(joint.first, host);
      }
      if (!domain && joint.second != no_index && sides_[1].places[host]) {
        Domain other = second_name(joint, host);
        if (!other.is_unknown()) domain = std::move(other);
      }
      path.push_back(std::move(domain));
    }
    for (const Side& side : sides_) {
      if (path.seat() == 0 && side.places[host] && side.places[host]->path.seat() > 0) {
        path.set_seat(side.places[host]->path.seat());
      }
    }
    return path;
  }

  // The domain's name in the first map if it has a name there, else in the second.
  Domain second_name(const Joint& joint, Index host) const {
    const Index domain = second(joint.second).domain_of[host];
    if (joint.first != no_index && domain != no_index && joint.sample[domain] != no_index) {
      return sides_[0].domain(joint.first, joint.sample[domain]);
    }
    return sides_[1].domain(joint.second, host);
  }

  Evidence evidence_of(Index host) const {
    const Location* one = sides_[0].places[host];
    const Location* two = sides_[1].places[host];
    if (one && two) return fmt::format("{}, {}", one->evidence.text(), two->evidence.text());
    return one ? one->evidence : two ? two->evidence : Evidence();
  }

  // Uses a source's own text only if that source has all levels.
  std::string written_of(Index host) const {
    const bool as_first = joints_.size() == sides_[0].levels.size() && sides_[0].places[host];
    return as_first ? sides_[0].places[host]->written : std::string();
  }

  std::array<Map, 2> maps_;
  std::vector<std::string> hosts_;  // of both maps
  std::array<Side, 2> sides_;
  std::vector<Joint> joints_;  // outermost first
};

}  // namespace

Result<Map> nest(Map first, Map second) {
  if (first.levels.empty() || second.levels.empty()) {
    return merge(std::move(first), std::move(second));
  }
  return Nesting(std::move(first), std::move(second)).run();
}

}  // namespace toprun::topology
