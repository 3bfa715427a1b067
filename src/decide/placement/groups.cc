#include "decide/placement/groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/text/text.h"
#include "decide/cost/domains.h"
#include "decide/cost/links.h"

namespace toprun::placement {
namespace {

cost::Domains domains_of(const Placement& placement) {
  std::vector<const topology::Path*> paths;
  for (const Node& node : placement.nodes) paths.push_back(&node.location.path);
  return {paths, placement.levels.size()};
}

std::vector<int> processes_of(const Placement& placement) {
  std::vector<int> processes;
  for (const Node& node : placement.nodes) processes.push_back(node.nproc);
  return processes;
}

void count_spanning(GroupScore& score, const cost::Groups& groups, const cost::Domains& domains,
                    std::span<const std::uint32_t> slot_of) {
  score.spanning.assign(domains.levels(), 0);
  std::vector<std::uint32_t> slots;
  for (std::size_t g = 0; g < score.groups; ++g) {
    slots.clear();
    for (std::size_t i = 0; i < score.size; ++i) {
      const std::uint32_t slot = slot_of[static_cast<std::size_t>(groups.rank(g, i))];
      if (slots.empty() || slots.back() != slot) slots.push_back(slot);
    }
    score.nodes = std::max(score.nodes, slots.size());
    for (std::size_t level = 0; level < domains.levels(); ++level) {
      const std::uint32_t first = domains.domain(slots.front(), level);
      if (std::ranges::any_of(
              slots, [&](std::uint32_t slot) { return domains.domain(slot, level) != first; })) {
        ++score.spanning[level];
      }
    }
  }
}

double cost_of_kind(cost::Kind kind, const Prepared& prepared, const cost::Ways& ways,
                    std::span<const std::uint32_t> slot_of) {
  const std::array kinds = {kind};
  const auto graph =
      cost::graph_of(prepared.layout, prepared.traffic, kinds, slot_of, ways.nodes());
  if (!graph) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::size_t> nodes(ways.nodes());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  return cost_of(*graph, ways, nodes);
}

// The known innermost domains by name and their number of nodes, in the placement's order.
std::vector<std::pair<std::string, std::size_t>> innermost_sizes(const Placement& placement) {
  std::vector<std::pair<std::string, std::size_t>> sizes;
  std::map<topology::Path, std::size_t> at;
  for (const Node& node : placement.nodes) {
    if (node.location.path.empty() || !node.location.path.back()) continue;
    const auto [found, is_new] = at.emplace(node.location.path, sizes.size());
    if (is_new) sizes.emplace_back(*node.location.path.back(), 0);
    ++sizes[found->second].second;
  }
  return sizes;
}

std::string why_it_spans(const GroupScore& score, const std::string& level,
                         const std::vector<std::pair<std::string, std::size_t>>& sizes) {
  std::size_t largest = 0;
  for (const auto& [name, size] : sizes) largest = std::max(largest, size);
  if (score.nodes > largest) {
    return fmt::format("no {} has more than {}", level, counted(largest, "node"));
  }
  for (const auto& [name, size] : sizes) {
    if (size % score.nodes == 0) continue;
    return fmt::format("{} {} has {}, which is not a multiple of {}", level, name,
                       counted(size, "node"), score.nodes);
  }
  return {};
}

struct Candidate {
  std::string_view name;
  Order order;
  bool planned = false;
};
constexpr std::array candidates = {
    Candidate{"given", Order::given},
    Candidate{"name", Order::name},
    Candidate{"torchrun", Order::torchrun},
    Candidate{"topology", Order::topology},
    Candidate{"parallel", Order::topology, true},
};

std::string seconds_json(double seconds) {
  return std::isfinite(seconds) ? fmt::format("{:.6g}", seconds) : "null";
}

void write_score(JsonWriter& json, const GroupScore& score,
                 const std::vector<std::string>& levels) {
  json.raw("{\"kind\": ").text(name_of(score.kind));
  json.raw(", \"size\": ").number(score.size);
  json.raw(", \"groups\": ").number(score.groups).raw(", \"spanning\": {");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    json.raw(i == 0 ? "" : ", ").text(levels[i]).raw(": ").number(score.spanning[i]);
  }
  json.raw("}, \"cost\": ").raw(seconds_json(score.cost)).raw("}");
}

// Disjoint sets that can only grow; one of its members identifies a set.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

std::vector<std::size_t> nodes_of_ranks(const Placement& placement) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    nodes.insert(nodes.end(), static_cast<std::size_t>(placement.nodes[i].nproc), i);
  }
  return nodes;
}

Teams teams_of_kind(const Placement& placement, const cost::Layout& layout, cost::Kind kind) {
  const std::vector<std::size_t> node_of = nodes_of_ranks(placement);
  const cost::Groups groups = cost::groups_of(layout, kind);
  Sets sets(placement.nodes.size());
  for (std::size_t g = 0; g < groups.bases.size(); ++g) {
    const std::size_t first = node_of[static_cast<std::size_t>(groups.rank(g, 0))];
    for (std::size_t i = 1; i < groups.offsets.size(); ++i) {
      sets.join(node_of[static_cast<std::size_t>(groups.rank(g, i))], first);
    }
  }
  Teams teams{kind, 0, {}};
  std::vector<std::optional<std::size_t>> number(placement.nodes.size());
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    std::optional<std::size_t>& known = number[sets.find(i)];
    if (!known) known = teams.count++;
    teams.of_node.push_back(*known);
  }
  return teams;
}

}  // namespace

std::vector<GroupScore> score_groups(const Placement& placement, const Prepared& prepared) {
  const cost::Domains domains = domains_of(placement);
  const cost::Ways ways(domains, placement.nodes.size(), prepared.links);
  const auto slot_of = cost::slots_of_ranks(processes_of(placement));
  std::vector<GroupScore> scores;
  for (const cost::Kind kind : prepared.kinds) {
    const cost::Groups groups = cost::groups_of(prepared.layout, kind);
    GroupScore score{kind, groups.offsets.size(), groups.bases.size(), 0, {}, 0};
    count_spanning(score, groups, domains, slot_of);
    score.cost = cost_of_kind(kind, prepared, ways, slot_of);
    scores.push_back(std::move(score));
  }
  return scores;
}

std::vector<std::string> explain_groups(const Placement& placement,
                                        const std::vector<GroupScore>& scores) {
  std::vector<std::string> lines;
  if (placement.levels.empty()) return lines;
  const auto sizes = innermost_sizes(placement);
  const std::string level = printable(placement.levels.back());
  for (const GroupScore& score : scores) {
    if (score.spanning.back() == 0 || score.nodes < 2 || sizes.empty()) continue;
    const std::string why = why_it_spans(score, level, sizes);
    if (why.empty()) continue;  // the group could stay inside, but more costly traffic has priority
    lines.push_back(fmt::format("{} groups of {} are on {} nodes, {} of {} in more than one {}: {}",
                                name_of(score.kind), score.size, score.nodes, score.spanning.back(),
                                score.groups, level, why));
  }
  return lines;
}

Result<GroupTable> tabulate_groups(const std::vector<Host>& hosts, const topology::Map& map,
                                   const Plan& plan) {
  GroupTable table;
  table.levels = map.levels;
  std::vector<int> processes;
  for (const Host& host : hosts) processes.push_back(host.nproc);
  const auto prepared = TRY(prepare(plan, map, processes));
  for (const auto& [name, order, planned] : candidates) {
    Constraints constraints{.order = order};
    if (planned) constraints.plan = plan;
    auto placement = TRY(place(hosts, map, constraints));
    GroupTable::Row row{name, score_groups(placement, prepared), 0};
    for (const GroupScore& score : row.kinds) row.cost += score.cost;
    table.rows.push_back(std::move(row));
    table.mapping = std::move(placement.mapping);
    table.warnings = std::move(placement.warnings);
  }
  return table;
}

std::string groups_text(const GroupTable& table) {
  constexpr std::size_t name_width = 8;  // width of "torchrun", the longest
  std::string out =
      "groups in more than one domain, and the time that they keep links busy: the sum over all "
      "links, which work in parallel\n"
      "order     kind  groups  size";
  std::vector<std::size_t> widths;
  for (const std::string& level : table.levels) {
    widths.push_back(std::max(printable(level).size(), std::size_t{5}));
    out += fmt::format("  {:>{}}", printable(level), widths.back());
  }
  out += "  seconds per step\n";
  for (const GroupTable::Row& row : table.rows) {
    for (const GroupScore& score : row.kinds) {
      out += fmt::format("{:<{}}  {:<4}  {:>6}  {:>4}", row.order, name_width, name_of(score.kind),
                         score.groups, score.size);
      for (std::size_t i = 0; i < widths.size(); ++i) {
        out += fmt::format("  {:>{}}", score.spanning[i], widths[i]);
      }
      out += fmt::format("  {:>16.4g}\n", score.cost);
    }
  }
  out += "order     all kinds, seconds per step\n";
  for (const GroupTable::Row& row : table.rows) {
    out += fmt::format("{:<{}}  {:.4g}\n", row.order, name_width, row.cost);
  }
  if (const auto& mapping = table.mapping) {
    out += fmt::format("{:<{}}  {:.4g}\n", mapping->exact ? "least" : "bound", name_width,
                       mapping->exact ? mapping->cost : mapping->bound);
  }
  return out;
}

std::string groups_json(const GroupTable& table) {
  JsonWriter json;
  json.raw("\"parallel\": {\"orders\": ");
  json.list(
      table.rows,
      [&](const GroupTable::Row& row) {
        json.raw("{\"name\": ").text(row.order).raw(", \"cost\": ").raw(seconds_json(row.cost));
        json.raw(", \"groups\": ");
        json.list(row.kinds,
                  [&](const GroupScore& score) { write_score(json, score, table.levels); });
        json.raw("}");
      },
      ",\n  ");
  json.raw(",\n  \"bound\": ").raw(table.mapping ? seconds_json(table.mapping->bound) : "null");
  json.raw(", \"exact\": ").raw(table.mapping && table.mapping->exact ? "true" : "false");
  return json.raw("}").take();
}

std::string mapping_text(const Mapping& mapping) {
  const std::string_view least = "no order has less";
  return fmt::format(
      "links are busy for {:.4g} s per step, summed over all links, and for {:.4g} s in plain "
      "order; {}",
      mapping.cost, mapping.plain,
      mapping.exact ? std::string(least) : fmt::format("{} than {:.4g}", least, mapping.bound));
}

std::string mapping_json(const Mapping& mapping) {
  return fmt::format(R"({{"cost": {}, "plain": {}, "bound": {}, "exact": {}}})",
                     seconds_json(mapping.cost), seconds_json(mapping.plain),
                     seconds_json(mapping.bound), mapping.exact);
}

std::optional<Teams> teams_of(const Placement& placement, const Prepared& prepared,
                              std::optional<cost::Kind> kind) {
  std::vector<cost::Kind> kinds = kind ? std::vector{*kind} : prepared.kinds;
  std::ranges::stable_sort(kinds, std::greater(),
                           [&](cost::Kind each) { return prepared.traffic.of(each); });
  std::optional<Teams> one_team;
  for (const cost::Kind each : kinds) {
    Teams teams = teams_of_kind(placement, prepared.layout, each);
    if (teams.count == placement.nodes.size()) continue;
    if (teams.count > 1) return teams;
    if (!one_team) one_team = std::move(teams);
  }
  return one_team;
}

}  // namespace toprun::placement
