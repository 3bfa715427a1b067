#include "node/plan/spares.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/files.h"
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

}  // namespace toprun::plan
