#include <algorithm>
#include <array>

#include "topology/file.h"
#include "topology/match.h"
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

bool never(const Request&) {
  return false;
}

// All kinds, in the order in which they are asked.
constexpr std::array<Source, 4> table = {{
    {"slurm", "each node's SLURM_TOPOLOGY_ADDR", in_slurm, read_slurm_addresses, true},
    {"slurm", "topology.conf beside $SLURM_CONF or in /etc/slurm", in_slurm, read_slurm_conf,
     false},
    {"slurm", "`scontrol show topology`", in_slurm, read_scontrol_topology, false},
    {"", "the file that --topology names", never, read_file_source, true},
}};

// What was asked for: "auto" and the names in the table; any other word is a file's path.
bool wanted(const Source& source, const Request& request) {
  if (request.topology == "auto") return source.plausible(request);
  const bool named = std::ranges::any_of(
      table, [&](const Source& s) { return !s.option.empty() && s.option == request.topology; });
  return source.option == (named ? request.topology : std::string_view());
}

// Whether the map says of every member where it is, be it only that there is nothing to know.
bool complete(const Map& map, const std::vector<std::string>& names) {
  if (names.empty()) return !map.hosts.empty();
  if (map.hosts.size() == names.size()) return true;  // no name of it stands twice
  std::vector<std::string> distinct = names;
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  return map.hosts.size() == distinct.size();
}

}  // namespace

Result<Map> locate(const Request& request) {
  std::vector<std::string> names;
  for (const Member& member : request.members) names.push_back(member.name);
  Map known;
  std::vector<Error> troubles;
  for (const Source& source : table) {
    if (!wanted(source, request)) continue;
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
    if (complete(known, names)) break;
  }
  if (request.topology == "auto" || !known.source.empty()) {
    for (const Error& trouble : troubles) known.warnings.push_back(trouble.line());
    return known;
  }
  if (!troubles.empty()) return std::unexpected(troubles.back());
  std::vector<std::string_view> asked;
  for (const Source& source : table) {
    if (wanted(source, request)) asked.push_back(source.needs);
  }
  return fail(fmt::format("--topology {}: nothing is known about the network", request.topology),
              fmt::format("asked in vain: {}", fmt::join(asked, ", ")),
              "describe it in a file: --topology FILE");
}

}  // namespace toprun::topology
