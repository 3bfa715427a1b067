#include <algorithm>
#include <array>

#include "topology/aws.h"
#include "topology/cloud.h"
#include "topology/file.h"
#include "topology/gcp.h"
#include "topology/match.h"
#include "topology/name_rule.h"
#include "topology/oci.h"
#include "topology/slurm_address.h"
#include "topology/slurm_conf.h"
#include "topology/slurm_scontrol.h"
#include "topology/source.h"

namespace toprun::topology {
namespace {

bool in_slurm(const Request& request) {
  return request.environment.non_empty("SLURM_JOB_ID").has_value() ||
         std::ranges::any_of(request.members, [](const Member& m) { return !m.address.empty(); });
}

bool on(Cloud cloud, const Request& request) {
  return std::ranges::any_of(request.members, [&](const Member& member) {
    return member.cloud && member.cloud->cloud == name_of(cloud);
  });
}

bool on_gcp(const Request& request) {
  return on(Cloud::gcp, request);
}

bool on_oci(const Request& request) {
  return on(Cloud::oci, request);
}

bool never(const Request&) {
  return false;
}

// All kinds, in the order in which they are asked.
constexpr std::array<Source, 8> table = {{
    {"slurm", "each node's SLURM_TOPOLOGY_ADDR", in_slurm, read_slurm_addresses, true},
    {"slurm", "topology.yaml or topology.conf beside $SLURM_CONF or in /etc/slurm", in_slurm,
     read_slurm_conf, false},
    {"slurm", "`scontrol show topology`", in_slurm, read_scontrol_topology, false},
    {"gcp", "each node's physical_host, where the firmware names Google Compute Engine", on_gcp,
     read_gcp, false},
    {"oci", "each node's rdmaTopologyData, where the firmware names OracleCloud.com", on_oci,
     read_oci, false},
    {"aws", "`aws ec2 describe-instance-topology`, where the firmware names Amazon EC2", never,
     read_aws, false},
    {"name:REGEX", "the nodes' names", never, read_name_rule, true},
    {"", "the file that --topology names", never, read_file_source, true},
}};

// "name:" of "name:REGEX": a word and what is given behind it.
std::string_view prefix_of(const Source& source) {
  const std::size_t colon = source.option.find(':');
  return colon == std::string_view::npos ? std::string_view() : source.option.substr(0, colon + 1);
}

bool is_asked_for(const Source& source, std::string_view topology) {
  const std::string_view prefix = prefix_of(source);
  return prefix.empty() ? source.option == topology : topology.starts_with(prefix);
}

bool wanted(const Source& source, const Request& request) {
  if (request.topology == "auto") return source.plausible(request);
  return is_asked_for(source, names_source(request.topology) ? request.topology : "");
}

bool is_cloud(const Source& source) {
  return source.option == name_of(Cloud::gcp) || source.option == name_of(Cloud::oci) ||
         source.option == name_of(Cloud::aws);
}

// Whether the map says of every member where it is, be it only that there is nothing to know.
bool complete(const Map& map, const std::vector<std::string>& names) {
  if (names.empty()) return !map.hosts.empty();
  if (map.hosts.size() == names.size()) return true;  // no name of it stands twice
  if (map.hosts.empty()) return false;
  std::vector<std::string> distinct = names;
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  return map.hosts.size() == distinct.size();
}

}  // namespace

std::vector<std::string> source_names() {
  std::vector<std::string> names = {"auto"};
  for (const Source& source : table) {
    if (!source.option.empty() && names.back() != source.option) names.emplace_back(source.option);
  }
  return names;
}

bool names_source(std::string_view topology) {
  return topology == "auto" || std::ranges::any_of(table, [&](const Source& source) {
           return !source.option.empty() && is_asked_for(source, topology);
         });
}

Result<Map> locate(const Request& request) {
  std::vector<std::string> names;
  for (const Member& member : request.members) names.push_back(member.name);
  Map known;
  std::vector<Error> troubles;
  for (const Source& source : table) {
    if (!wanted(source, request)) continue;
    // A flat engine has nothing to say of the network, and its cloud may have.
    const bool enough = is_cloud(source) ? !known.levels.empty() : complete(known, names);
    if (enough) continue;
    auto read = source.read(request);
    if (!read) {
      if (source.binding) return std::unexpected(read.error());
      troubles.push_back(read.error());
      continue;
    }
    if (!*read) continue;
    Map found = names.empty() ? **std::move(read) : restrict_to(**std::move(read), names);
    auto merged = merge(std::move(known), std::move(found));
    if (!merged) return merged;
    known = *std::move(merged);
  }
  if (request.topology == "auto" || !known.source.empty()) {
    for (const Error& trouble : troubles) known.warnings.push_back(trouble.line());
    return known;
  }
  if (!troubles.empty()) return std::unexpected(troubles.back());
  const std::string nothing =
      fmt::format("--topology {}: nothing is known about the network", request.topology);
  const std::string_view fix = "describe it in a file: --topology FILE";
  if (!known.warnings.empty()) {
    return fail(nothing, fmt::format("{}", fmt::join(known.warnings, "; ")), std::string(fix));
  }
  std::vector<std::string_view> asked;
  for (const Source& source : table) {
    if (wanted(source, request)) asked.push_back(source.needs);
  }
  return fail(nothing, fmt::format("asked in vain: {}", fmt::join(asked, ", ")), std::string(fix));
}

}  // namespace toprun::topology
