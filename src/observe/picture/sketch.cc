#include "observe/picture/sketch.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/net/hostlist.h"
#include "observe/report/outline.h"

namespace toprun::picture {
namespace {

using Nodes = std::span<const placement::Node>;
using Siblings = std::span<const report::Domain>;

// The content of a unit: this many neighbours of this level; the level behind the last is the
// nodes.
struct Cut {
  std::size_t level = 0;
  std::size_t together = 1;
};

// The number of units for a cut at each level. A domain without known inner domains counts as one
// at all levels except the last.
void count_units(Siblings domains, std::vector<std::size_t>& counts) {
  for (const report::Domain& domain : domains) {
    ++counts[domain.level];
    if (domain.inside.empty()) {
      for (std::size_t level = domain.level + 1; level + 1 < counts.size(); ++level) {
        ++counts[level];
      }
    } else {
      count_units(domain.inside, counts);
    }
  }
}

std::size_t divided_up(std::size_t count, std::size_t by) {
  return (count + by - 1) / by;
}

Cut cut_for(Siblings domains, std::size_t levels, std::size_t nodes) {
  if (nodes <= max_single_nodes || levels == 0) return {levels, divided_up(nodes, max_units)};
  std::vector<std::size_t> counts(levels + 1);
  count_units(domains, counts);
  std::size_t level = levels - 1;
  while (level > 0 && counts[level] > max_units) --level;
  if (counts[level] > max_units) return {level, divided_up(counts[level], max_units)};
  constexpr std::size_t few_domains = max_units / 8;
  if (level == levels - 1 || counts[level] >= few_domains) return {level, 1};
  return {level + 1, divided_up(counts[level + 1], max_units - counts[level])};
}

class Folding {
 public:
  Folding(const placement::Placement& tree, Sketch& sketch) : tree_(tree), sketch_(sketch) {
    unit_of_.resize(tree.nodes.size());
  }

  // Returns the unit of each of the given hosts.
  std::vector<std::size_t> run() {
    const std::vector<report::Domain> domains = report::outline(tree_);
    cut_ = cut_for(domains, tree_.levels.size(), tree_.nodes.size());
    sketch_.whole = {{}, {}, tree_.nodes.size(), 0, 0, 0, {}};
    add_all(domains, 0, sketch_.whole);
    add_unplaced();
    return std::move(unit_of_);
  }

 private:
  void add_all(Siblings domains, std::size_t level, Frame& around) {
    if (level == cut_.level) return add_folded(domains, around);
    for (const report::Domain& domain : domains) {
      around.inside.push_back(
          {domain.level, domain.name.name(), domain.nodes.size(), 0, sketch_.units.size(), 0, {}});
      Frame& frame = around.inside.back();
      if (!domain.inside.empty()) {
        add_all(domain.inside, level + 1, frame);
      } else if (cut_.level == tree_.levels.size()) {
        add_nodes(domain.nodes, cut_.together, domain.name.is_unknown(), frame);
      } else {
        add_nodes(domain.nodes, domain.nodes.size(), domain.name.is_unknown(), frame);
      }
    }
  }

  // Adds units of `count` domains each; domains with unknown names remain separate.
  void add_folded(Siblings domains, Frame& around) {
    while (!domains.empty()) {
      std::size_t count = 1;
      while (domains[0].name && count < std::min(cut_.together, domains.size()) &&
             domains[count].name) {
        ++count;
      }
      const report::Domain& last = domains[count - 1];
      add(folded(domains.first(count)),
          {domains[0].nodes.data(), last.nodes.data() + last.nodes.size()}, around);
      domains = domains.subspan(count);
    }
  }

  static Unit folded(Siblings domains) {
    std::vector<std::string> names;
    for (const report::Domain& domain : domains)
      names.push_back(domain.name.value_or(domain.name.is_none() ? "none" : "unknown"));
    Unit unit;
    unit.name = hosts::compress_hostlist(names);
    unit.level = domains[0].level;
    unit.domains = domains.size();
    unit.unknown = domains[0].name.is_unknown();
    return unit;
  }

  void add_nodes(Nodes nodes, std::size_t together, bool unknown, Frame& around) {
    while (!nodes.empty()) {
      const std::size_t count = std::min(together, nodes.size());
      Unit unit;
      unit.unknown = unknown;
      add(std::move(unit), nodes.first(count), around);
      nodes = nodes.subspan(count);
    }
  }

  void add_unplaced() {
    const std::size_t count = tree_.unplaced.size();
    if (count == 0) return;
    Frame& around = sketch_.whole;
    around.inside.push_back({{}, {}, count, 0, sketch_.units.size(), 0, {}});
    const bool all_shown = tree_.nodes.size() <= max_single_nodes;
    const std::size_t most = tree_.levels.empty() ? max_units : max_unplaced_units;
    add_nodes(Nodes(tree_.nodes).last(count), all_shown ? 1 : divided_up(count, most), true,
              around.inside.back());
  }

  void add(Unit unit, Nodes nodes, Frame& around) {
    std::vector<std::string> names;
    for (const placement::Node& node : nodes) {
      names.push_back(node.name);
      unit_of_[node.index] = sketch_.units.size();
    }
    unit.nodes = nodes.size();
    std::string hosts = hosts::compress_hostlist(names);
    if (unit.name.empty()) unit.name = nodes.size() == 1 ? names.front() : hosts;
    if (nodes.size() > 1 || unit.level) unit.hosts = std::move(hosts);
    ++around.own;
    sketch_.units.push_back(std::move(unit));
  }

  const placement::Placement& tree_;
  Sketch& sketch_;
  Cut cut_;
  std::vector<std::size_t> unit_of_;
};

// Finds the outermost level at which the step from one node to the other leaves a domain. Where
// neither has a domain, because their branch lacks the level, there is nothing to leave.
void find_crossing(const placement::Node& from, const placement::Node& to, Step& step) {
  const topology::Path& a = from.location.path;
  const topology::Path& b = to.location.path;
  for (std::size_t level = 0; level < a.size(); ++level) {
    if (!a[level].is_unknown() && a[level] == b[level]) continue;
    step.crosses = level;
    step.unknown = a[level].is_unknown() || b[level].is_unknown();
    return;
  }
}

void add_steps(Sketch& sketch, Nodes nodes, const std::vector<std::size_t>& unit_of) {
  std::unordered_map<std::size_t, std::size_t> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const placement::Node& next = nodes[(i + 1) % nodes.size()];
    Step step{unit_of[nodes[i].index], unit_of[next.index], {}, false, 1};
    if (step.from == step.to) {
      ++sketch.steps_inside;
      continue;
    }
    find_crossing(nodes[i], next, step);
    const auto [at, is_new] =
        found.emplace(step.from * sketch.units.size() + step.to, sketch.steps.size());
    if (is_new) {
      sketch.steps.push_back(step);
      continue;
    }
    Step& known = sketch.steps[at->second];
    ++known.count;
    if (step.crosses && (!known.crosses || *step.crosses < *known.crosses)) {
      known.crosses = step.crosses;
      known.unknown = step.unknown;
    }
  }
}

// The number of units in a frame, including those in its inner frames.
std::size_t units_in(const Frame& frame) {
  std::size_t count = frame.own;
  for (const Frame& inside : frame.inside) count += units_in(inside);
  return count;
}

// Adds a step's count to each frame that it leaves.
void add_leaving(Frame& frame, const Step& step) {
  for (Frame& inside : frame.inside) {
    const std::size_t end = inside.first + units_in(inside);
    if (step.from < inside.first || step.from >= end) continue;
    if (step.to < inside.first || step.to >= end) inside.leaving += step.count;
    add_leaving(inside, step);
    return;
  }
}

void count_leaving(Sketch& sketch) {
  for (const Step& step : sketch.steps) {
    sketch.units[step.from].leaving += step.count;
    add_leaving(sketch.whole, step);
  }
}

void add_ranks(Sketch& sketch, Nodes nodes, const std::vector<std::size_t>& unit_of) {
  std::vector<int> end(sketch.units.size(), -1);
  for (const placement::Node& node : nodes) {
    if (node.nproc == 0) continue;
    Unit& unit = sketch.units[unit_of[node.index]];
    const bool goes_on =
        std::exchange(end[unit_of[node.index]], node.first_rank + node.nproc) == node.first_rank;
    if (!goes_on && unit.runs++ < max_runs) unit.ranks.push_back({node.first_rank, 0});
    if (unit.runs <= max_runs) unit.ranks.back().count += node.nproc;
  }
}

void add_teams(Sketch& sketch, const placement::Teams& teams, Nodes nodes,
               const std::vector<std::size_t>& unit_of) {
  sketch.team_kind = name_of(teams.kind);
  sketch.teams = teams.count;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t team = teams.of_node[i];
    std::optional<placement::Teams::Range>& range = sketch.units[unit_of[nodes[i].index]].teams;
    if (!range) range = {team, team};
    range = {std::min(range->first, team), std::max(range->last, team)};
  }
}

}  // namespace

Sketch sketch(const placement::Placement& tree, const placement::Placement& drawn,
              const placement::Teams* teams) {
  Sketch sketch{drawn.source, drawn.levels, drawn.ring, drawn.nodes.size(), {}, {}, {}, 0, {}};
  const std::vector<std::size_t> unit_of = Folding(tree, sketch).run();
  add_ranks(sketch, drawn.nodes, unit_of);
  if (teams) add_teams(sketch, *teams, drawn.nodes, unit_of);
  if (!drawn.nodes.empty()) sketch.start = unit_of[drawn.nodes.front().index];
  if (drawn.nodes.size() > 1) add_steps(sketch, drawn.nodes, unit_of);
  count_leaving(sketch);
  return sketch;
}

}  // namespace toprun::picture
