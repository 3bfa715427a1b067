#include "node/prepare/probes/locate.h"

#include <set>
#include <string>
#include <string_view>

#include "base/net/hostlist.h"

namespace toprun::probes {
namespace {

// The order by topology and the workers' TOPRUN_LOCATION need the nodes' locations.
topology::Request locate_request(const std::vector<model::Join>& members, const plan::Job& job) {
  topology::Request request;
  request.topology = job.options.topology;
  request.environment = job.environment;
  std::set<std::string> named;
  for (const model::Join& join : members) {
    if (!named.insert(join.host).second) continue;
    topology::Member member{join.host, join.location.value_or(""),
                            join.location_pattern.value_or("")};
    if (join.cloud) {
      member.cloud =
          topology::CloudEvidence{join.cloud->cloud, join.cloud->text, join.cloud->trouble};
    }
    if (join.nvlink)
      member.nvlink = topology::ProgramOutput{join.nvlink->text, join.nvlink->trouble};
    if (join.kube) {
      member.node = join.kube->name;
      if (join.kube->labels) member.labels = *join.kube->labels;
    }
    if (join.ports) member.ports = *join.ports;
    request.members.push_back(std::move(member));
  }
  return request;
}

Result<void> all_located(const topology::Map& map, const topology::Request& request) {
  std::set<std::string_view> located;
  for (const topology::Map::Entry& entry : map.hosts) {
    if (entry.location.path.known()) located.insert(entry.host);
  }
  std::vector<std::string> unknown;
  for (const topology::Member& member : request.members) {
    if (!located.contains(member.name)) unknown.push_back(member.name);
  }
  if (unknown.empty()) return {};
  return fail(
      "--topology-required",
      "the place of these nodes in the network is not known: " + hosts::compress_hostlist(unknown),
      "add these nodes to a topology file, and give this file with --topology FILE");
}

}  // namespace

Result<topology::Map> locate(const std::vector<model::Join>& members, const plan::Job& job) {
  if (!job.locates()) return topology::Map{};
  const topology::Request request = locate_request(members, job);
  auto map = topology::locate(request);
  if (!map || !job.options.topology_required) return map;
  TRY(all_located(*map, request));
  return map;
}

}  // namespace toprun::probes
