#include "plan/spares.h"

#include <unordered_set>

#include "base/console.h"
#include "hosts/hostlist.h"
#include "placement/order.h"
#include "topology/source.h"

namespace toprun::plan {
namespace {

bool there_are_spares(const Job& job) {
  const bool by_topology =
      job.options.order == Order::automatic || job.options.order == Order::topology;
  return by_topology && job.place.nodes.size() > static_cast<std::size_t>(job.place.node_count);
}

Result<topology::Map> locate(const Job& job) {
  topology::Request request{job.options.topology, {}, job.environment};
  for (const scheduler::Node& node : job.place.nodes)
    request.members.push_back({node.name, {}, {}});
  return topology::locate(std::move(request));
}

}  // namespace

Result<scheduler::Allocation> needed_nodes(const Job& job) {
  scheduler::Allocation place = job.place;
  if (!there_are_spares(job)) return place;
  auto map = locate(job);
  if (!map) return std::unexpected(map.error());
  if (map->source.empty()) return place;
  std::vector<placement::Host> hosts;
  for (const scheduler::Node& node : place.nodes) hosts.push_back({node.name, 1});
  const auto placed = placement::place(
      hosts, *std::move(map),
      {.segment = job.options.segment, .nodes = static_cast<std::size_t>(place.node_count)});
  if (!placed) return std::unexpected(placed.error());
  const std::unordered_set<std::string> spare(placed->spare.begin(), placed->spare.end());
  std::erase_if(place.nodes, [&](const auto& node) { return spare.contains(node.name); });
  place.chosen = true;
  say(fmt::format("{} of {} nodes are taken; not {}, which would spread the job further",
                  place.node_count, job.place.nodes.size(),
                  hosts::compress_hostlist(placed->spare)));
  return place;
}

}  // namespace toprun::plan
