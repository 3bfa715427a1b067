#include "node/plan/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/cost/layout.h"
#include "decide/placement/groups.h"
#include "decide/placement/order.h"
#include "decide/topology/source.h"

namespace toprun::plan {
namespace {

bool is_by_topology(Order order) {
  return order == Order::automatic || order == Order::topology;
}

Result<topology::Map> locate(const Job& job) {
  topology::Request request{job.options.topology, {}, job.environment};
  for (const engines::Node& node : job.place.nodes) request.members.push_back({node.name, {}, {}});
  return topology::locate(std::move(request));
}

using Indexes = std::vector<std::size_t>;

// Those that stay are first among the members.
Result<Indexes> kept_by_topology(const run::Arrange& request, const Options& options,
                                 const topology::Map& map) {
  std::vector<placement::Host> hosts;
  for (const model::Join& member : request.members) hosts.push_back({member.host, 1});
  placement::Constraints constraints{.segment = options.segment, .nodes = request.seats};
  for (std::size_t i = 0; i < request.staying; ++i) constraints.fixed.insert(i);
  const auto placed = TRY(placement::place(hosts, map, constraints));
  Indexes kept;
  for (const placement::Node& node : placed.nodes) kept.push_back(node.index);
  return kept;
}

Result<std::unordered_set<std::string>> hosts_in_order_file(const Options& options) {
  if (options.order != Order::file) return std::unordered_set<std::string>();
  const auto text = TRY(read_file(options.order_file));
  const auto names = TRY(placement::read_order(text, options.order_file));
  return std::unordered_set<std::string>(names.begin(), names.end());
}

Result<Indexes> kept_by_number(const run::Arrange& request, const Options& options) {
  const auto listed = TRY(hosts_in_order_file(options));
  Indexes kept(request.members.size());
  std::iota(kept.begin(), kept.end(), 0);
  std::stable_sort(kept.begin() + static_cast<std::ptrdiff_t>(request.staying), kept.end(),
                   [&](std::size_t a, std::size_t b) {
                     const auto rank = [&](const model::Join& join) {
                       return std::pair(!listed.contains(join.host),
                                        join.node_index.value_or(std::numeric_limits<int>::max()));
                     };
                     return rank(request.members[a]) < rank(request.members[b]);
                   });
  kept.resize(request.seats);
  return kept;
}

using model::Assignment;
using model::Join;

// One node of the job and its members: one agent, or its ranks in place.
struct Node {
  std::string name;
  std::optional<int> rank;   // fixed on the command line
  std::optional<int> index;  // from the engine: the number of its first task, else of the node
  std::vector<std::size_t> members;
  int nproc = 0;
};

Result<std::vector<Node>> nodes_of(const std::vector<Join>& members) {
  std::vector<Node> nodes;
  std::map<std::string, std::size_t> shared;  // nodes of ranks in place, by name and index
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Join& join = members[i];
    std::size_t at = nodes.size();
    if (join.local_rank) {
      const std::string key = fmt::format("{} {}", join.node_index.value_or(-1), join.host);
      at = shared.try_emplace(key, at).first->second;
    }
    if (at == nodes.size()) nodes.push_back({join.host, join.node_rank, join.node_index, {}, 0});
    Node& node = nodes[at];
    // A node takes the place of its first process, which -m arbitrary puts on any node.
    if (join.task) {
      node.index = node.members.empty() ? *join.task : std::min(*node.index, *join.task);
    }
    node.members.push_back(i);
    node.nproc += join.slots;
  }
  for (Node& node : nodes) {
    std::ranges::sort(node.members, {}, [&](std::size_t i) { return members[i].local_rank; });
    for (std::size_t k = 0; k < node.members.size(); ++k) {
      const std::optional<int> local = members[node.members[k]].local_rank;
      if (local && *local != static_cast<int>(k)) {
        return fail(fmt::format("node {} has local rank {} but not {}", node.name, *local, k),
                    "the engine numbers its tasks in a way that toprun does not know",
                    "start one toprun per node instead");
      }
    }
  }
  return nodes;
}

// Node ranks that are only preferences are ignored if they contradict one another.
std::vector<std::string> drop_conflicting_ranks(std::vector<Node>& nodes) {
  std::map<int, std::string> holders;
  for (const Node& node : nodes) {
    if (!node.rank) continue;
    const auto [holder, free] = holders.try_emplace(*node.rank, node.name);
    const bool possible = *node.rank < std::ssize(nodes);
    if (free && possible) continue;
    std::string why =
        possible ? fmt::format("this rank is given on {} and on {}", holder->second, node.name)
                 : fmt::format("there are {} nodes", nodes.size());
    std::string warning =
        fmt::format("--node-rank {} is ignored, as with torchrun's c10d: {}", *node.rank, why);
    for (Node& other : nodes) other.rank.reset();
    return {std::move(warning)};
  }
  return {};
}

bool all_have(const std::vector<Node>& nodes, std::optional<int> Node::*number) {
  return std::ranges::all_of(nodes, [&](const Node& node) { return (node.*number).has_value(); });
}

// Sorts the nodes by `number`; those without one come last.
void sort_by(std::vector<Node>& nodes, std::optional<int> Node::*number) {
  std::ranges::stable_sort(nodes, [&](const Node& a, const Node& b) {
    if (a.*number && b.*number) return *(a.*number) < *(b.*number);
    return (a.*number).has_value() && !(b.*number).has_value();
  });
}

struct Choice {
  Order order;
  std::string why;
  bool by_node_rank = false;  // the nodes with a fixed rank come first
};

Choice choose_order(const Options& options, const std::vector<Node>& nodes,
                    const topology::Map& map, bool are_listed) {
  if (options.order != Order::automatic) return {options.order, "--order"};
  if (nodes.size() == 1) return {Order::given, "there is one node"};
  if (std::ranges::any_of(nodes, [](const Node& node) { return node.rank.has_value(); })) {
    return {Order::given, "--node-rank fixes it", true};
  }
  if (!map.source.empty()) return {Order::topology, "evidence from " + map.source};
  if (are_listed && all_have(nodes, &Node::index)) {
    return {Order::given, "no evidence of the topology: as in the list of hosts"};
  }
  if (all_have(nodes, &Node::index)) return {Order::scheduler, "no evidence of the topology"};
  return {Order::name, "no evidence of the topology, and no order from an engine"};
}

Result<placement::Placement> place_by(const Choice& choice, const std::vector<Node>& nodes,
                                      const Options& options, const topology::Map& map,
                                      const std::vector<std::string>& before) {
  std::vector<placement::Host> hosts;
  for (const Node& node : nodes) hosts.push_back({node.name, node.nproc});
  switch (choice.order) {
    case Order::topology:
      return placement::place(hosts, map,
                              {.segment = options.segment,
                               .plan = options.plan,
                               .before = options.stable ? before : std::vector<std::string>{}});
    case Order::name:
      return placement::place(hosts, map, {.order = placement::Order::name});
    case Order::file: {
      const auto text = read_file(options.order_file);
      if (!text) {
        return usage("--order file:" + options.order_file, text.error().line(),
                     "give a file with one host per line");
      }
      return placement::place_as_listed(hosts, map, *text, options.order_file);
    }
    case Order::automatic:
    case Order::scheduler:
    case Order::given:
      break;
  }
  return placement::place(hosts, map, {.order = placement::Order::given});
}

std::string_view name_of(Order order) {
  switch (order) {
    case Order::topology:
      return "topology";
    case Order::name:
      return "name";
    case Order::scheduler:
      return "scheduler";
    case Order::file:
      return "file";
    case Order::automatic:
    case Order::given:
      break;
  }
  return "given";
}

model::OrderRecord record_of(const Choice& choice, placement::Placement& placed) {
  model::OrderRecord record{
      std::string(name_of(choice.order)), choice.why, placed.source, {}, std::move(placed.unplaced),
      std::move(placed.warnings)};
  record.notes = std::move(placed.notes);
  if (placed.mapping) {
    record.notes.push_back("parallel: " + placement::mapping_text(*placed.mapping));
  }
  for (const placement::Crossings& ring : placed.ring) {
    record.levels.push_back({ring.level, ring.given, ring.ordered, ring.minimum});
  }
  return record;
}

// The order by topology checks it too; a job of one node, or without evidence, has another order.
Result<void> check_plan(const Options& options, const std::vector<Node>& nodes) {
  if (!options.plan) return {};
  int ranks = 0;
  for (const Node& node : nodes) ranks += node.nproc;
  const auto layout = cost::layout_of(options.plan->parallel, ranks);
  return layout ? Result<void>{} : std::unexpected(layout.error());
}

// The ranks of a node are consecutive, the engine's tasks need not be (srun -m cyclic).
std::optional<std::string> differs_from_tasks(const std::vector<Join>& members,
                                              const std::vector<Assignment>& parts) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].task || !members[i].local_rank) return std::nullopt;
    if (*members[i].task != parts[i].first_rank) ++others;
  }
  if (others == 0) return std::nullopt;
  return fmt::format(
      "--order scheduler: {} of {} ranks have another number than their task, because the ranks of "
      "a node have consecutive numbers; distribute the tasks in blocks",
      others, members.size());
}

// Numbers the members of equal role, in the order of the nodes.
void count_roles(const std::vector<Join>& members, std::vector<Assignment>& parts) {
  std::vector<std::size_t> by_rank(parts.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  std::ranges::sort(by_rank, {}, [&](std::size_t i) { return parts[i].first_rank; });
  std::map<std::string, int> counted;
  for (const std::size_t i : by_rank) {
    parts[i].role_first_rank = counted[members[i].role];
    counted[members[i].role] += parts[i].nproc;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].role_world_size = counted[members[i].role];
  }
}

}  // namespace

Result<std::vector<std::size_t>> spare_members(const run::Arrange& request, const Options& options,
                                               const topology::Map& map) {
  if (request.seats >= request.members.size()) return Indexes();
  const bool is_by_network = is_by_topology(options.order) && !map.source.empty();
  const auto kept = TRY(is_by_network ? kept_by_topology(request, options, map)
                                      : kept_by_number(request, options));
  std::vector<bool> is_spare(request.members.size(), true);
  for (const std::size_t i : kept) is_spare[i] = false;
  Indexes spares;
  for (std::size_t i = 0; i < is_spare.size(); ++i) {
    if (is_spare[i]) spares.push_back(i);
  }
  return spares;
}

Result<engines::Allocation> needed_nodes(const Job& job) {
  engines::Allocation place = job.place;
  const std::size_t needed = static_cast<std::size_t>(place.node_count);
  if (place.nodes.size() <= needed) return place;
  if (job.replaces_nodes()) {
    place.node_count = static_cast<int>(place.nodes.size());
    return place;
  }
  if (!is_by_topology(job.options.order)) return place;
  auto map = TRY(locate(job));
  if (map.source.empty()) return place;
  std::vector<placement::Host> hosts;
  for (const engines::Node& node : place.nodes) hosts.push_back({node.name, 1});
  const auto placed = TRY(
      placement::place(hosts, std::move(map), {.segment = job.options.segment, .nodes = needed}));
  const std::unordered_set<std::string> spare(placed.spare.begin(), placed.spare.end());
  std::erase_if(place.nodes, [&](const auto& node) { return spare.contains(node.name); });
  place.chosen = true;
  say(fmt::format(
      "this job uses {} of {} nodes and leaves out {}, which would spread the job further",
      place.node_count, job.place.nodes.size(), hosts::compress_hostlist(placed.spare)));
  return place;
}

Result<run::Arrangement> arrange(const std::vector<Join>& members, const Options& options,
                                 const topology::Map& map, const std::vector<std::string>& before,
                                 bool are_listed) {
  auto nodes = TRY(nodes_of(members));
  TRY(check_plan(options, nodes));
  std::vector<std::string> warnings;
  if (node_rank_is_a_hint(options)) warnings = drop_conflicting_ranks(nodes);
  const Choice choice = choose_order(options, nodes, map, are_listed);
  if (choice.order == Order::scheduler && !all_have(nodes, &Node::index)) {
    return fail("--order scheduler", "no scheduler, such as Slurm, has given these nodes an order",
                "use --order name, given or topology");
  }
  if (choice.order == Order::topology && map.source.empty()) {
    return fail("--order topology",
                "toprun found no information on where the nodes are in the network",
                "give a topology file with --topology FILE, or use --order name");
  }
  const bool by_rank = choice.order == Order::given && !all_have(nodes, &Node::index);
  sort_by(nodes, by_rank || choice.by_node_rank ? &Node::rank : &Node::index);
  auto placed = TRY(place_by(choice, nodes, options, map, before));

  run::Arrangement arrangement;
  arrangement.parts.resize(members.size());
  placed.warnings.insert(placed.warnings.begin(), warnings.begin(), warnings.end());
  arrangement.order = record_of(choice, placed);
  const int world_size = placed.nodes.back().first_rank + placed.nodes.back().nproc;
  for (std::size_t group = 0; group < placed.nodes.size(); ++group) {
    const placement::Node& seat = placed.nodes[group];
    const Node& node = nodes[seat.index];
    int first = seat.first_rank;
    for (const std::size_t i : node.members) {
      Assignment& part = arrangement.parts[i];
      part.group_rank = static_cast<int>(group);
      part.group_world_size = static_cast<int>(placed.nodes.size());
      part.first_rank = first;
      part.nproc = members[i].slots;
      part.world_size = world_size;
      part.local_world_size = node.nproc;
      part.order = arrangement.order.name;
      if (seat.placed) part.location = topology::location_text(seat.location, seat.name);
      first += part.nproc;
    }
    arrangement.nodes.push_back(node.members.front());
  }
  arrangement.store_host = arrangement.nodes.front();
  if (options.order == Order::scheduler) {
    if (auto warning = differs_from_tasks(members, arrangement.parts)) {
      arrangement.order.warnings.push_back(*std::move(warning));
    }
  }
  count_roles(members, arrangement.parts);
  return arrangement;
}

}  // namespace toprun::plan
