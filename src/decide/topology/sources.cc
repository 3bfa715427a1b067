#include <algorithm>
#include <array>
#include <future>
#include <list>
#include <span>

#include "base/process/command.h"
#include "base/text/sets.h"
#include "decide/topology/cloud/azure.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/files/file.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/k8s_labels.h"
#include "decide/topology/match.h"
#include "decide/topology/name_rule.h"
#include "decide/topology/nest.h"
#include "decide/topology/nvlink.h"
#include "decide/topology/slurm/address.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/source.h"

namespace toprun::topology {
namespace {

constexpr std::string_view slurm_option = "slurm";

bool in_slurm(const Request& request) {
  if (request.outside_of_jobs && process::find_program("scontrol", request.environment))
    return true;
  return request.environment.non_empty("SLURM_JOB_ID").has_value() ||
         std::ranges::any_of(request.members, [](const Member& m) { return !m.address.empty(); });
}

// Slurm's programs are also installed on machines outside any Slurm cluster. There, missing output
// means nothing.
bool is_only_tried(const Source& row, const Request& request) {
  return row.option == slurm_option && request.outside_of_jobs && request.topology == "auto";
}

template <Cloud cloud>
bool on(const Request& request) {
  return std::ranges::any_of(request.members, [&](const Member& member) {
    return member.cloud && member.cloud->cloud == name_of(cloud);
  });
}

bool never(const Request&) {
  return false;
}

bool has_nvlink_evidence(const Request& request) {
  return std::ranges::any_of(request.members, [](const Member& m) { return m.nvlink.has_value(); });
}

bool has_label_evidence(const Request& request) {
  return std::ranges::any_of(request.members, [](const Member& m) { return m.labels.has_value(); });
}

constexpr std::string_view nvlink_option = "nvlink";
constexpr std::string_view k8s_option = "k8s";

// All kinds of evidence, in order of priority. Rows of one option are adjacent.
constexpr std::array<Source, 12> table = {{
    {slurm_option, "each node's SLURM_TOPOLOGY_ADDR", in_slurm, read_slurm_addresses,
     Speed::at_once, Fault::final},
    {slurm_option, "topology.yaml or topology.conf beside $SLURM_CONF or in /etc/slurm", in_slurm,
     read_slurm_conf, Speed::at_once, Fault::warning},
    {slurm_option, "`scontrol show topology`", in_slurm, read_scontrol_topology, Speed::slow,
     Fault::warning},
    {k8s_option, "each node's labels (TOPRUN_NODE_LABELS)", has_label_evidence,
     read_injected_labels, Speed::at_once, Fault::warning},
    {k8s_option, "the nodes of Kubernetes' API server", can_ask_cluster, read_cluster, Speed::slow,
     Fault::warning},
    {"gcp", "each node's physical_host, where the firmware names Google Compute Engine",
     on<Cloud::gcp>, read_gcp, Speed::at_once, Fault::warning},
    {"oci", "each node's rdmaTopologyData, where the firmware names OracleCloud.com",
     on<Cloud::oci>, read_oci, Speed::at_once, Fault::warning},
    {"aws", "`aws ec2 describe-instance-topology`, where the firmware names Amazon EC2", never,
     read_aws, Speed::slow, Fault::warning},
    {"azure", "`sharp_cmd topology`, for the nodes' InfiniBand ports", never, read_azure,
     Speed::slow, Fault::warning},
    {"name:REGEX", "the nodes' names", never, read_name_rule, Speed::at_once, Fault::final},
    {"", "the file that --topology names", never, read_file_source, Speed::at_once, Fault::final},
    {nvlink_option, "each node's nvidia-smi, where the driver has fabric channels",
     has_nvlink_evidence, read_nvlink, Speed::at_once, Fault::warning},
}};

// The prefix "name:" of "name:REGEX".
std::string_view prefix_of(const Source& source) {
  const std::size_t colon = source.option.find(':');
  return colon == std::string_view::npos ? std::string_view() : source.option.substr(0, colon + 1);
}

bool is_requested(const Source& source, std::string_view topology) {
  const std::string_view prefix = prefix_of(source);
  return prefix.empty() ? source.option == topology : topology.starts_with(prefix);
}

bool requested(const Source& source, const Request& request) {
  if (request.topology == "auto") return source.plausible(request);
  if (source.option == nvlink_option && source.plausible(request)) return true;
  return is_requested(source, names_source(request.topology) ? request.topology : "");
}

// Whether the map decides every member's place, or decides that the place is unknown.
bool complete(const Map& map, const std::vector<std::string>& names) {
  if (names.empty()) return !map.hosts.empty();
  if (map.hosts.size() == names.size()) return true;  // no name occurs twice
  if (map.hosts.empty()) return false;
  std::vector<std::string> distinct = names;
  sort_distinct(distinct);
  return map.hosts.size() == distinct.size();
}

using Answer = Result<std::optional<Map>>;

// The combined result of the sources of one option.
class Option {
 public:
  Option(std::span<const Source> rows, const Request& request) : request_(request) {
    for (const Source& row : rows) {
      if (requested(row, request)) rows_.push_back(&row);
    }
  }

  bool is_requested() const { return !rows_.empty(); }
  std::string_view name() const { return rows_.front()->option; }

  Result<void> read_local(const std::vector<std::string>& names) {
    for (const Source* row : rows_) {
      if (row->speed != Speed::at_once || complete(map, names)) continue;
      if (auto taken = take(*row, row->read(request_), names); !taken) return taken;
    }
    return {};
  }

  void start_slow(const std::vector<std::string>& names) {
    if (complete(map, names)) return;
    for (const Source* row : rows_) {
      if (row->speed != Speed::slow) continue;
      const auto ask = [row, this] { return row->read(request_); };
      asked_.emplace_back(row, std::async(std::launch::async, ask));
    }
  }

  Result<void> finish_slow(const std::vector<std::string>& names) {
    for (auto& [row, answer] : asked_) {
      if (complete(map, names)) continue;
      if (auto taken = take(*row, answer.get(), names); !taken) return taken;
    }
    return {};
  }

  Map map;
  std::vector<Error> troubles;

 private:
  Result<void> take(const Source& row, Answer answer, const std::vector<std::string>& names) {
    if (!answer) {
      if (row.fault == Fault::final) return std::unexpected(answer.error());
      if (!is_only_tried(row, request_)) troubles.push_back(answer.error());
      return {};
    }
    if (!*answer) return {};
    Map found = names.empty() ? **std::move(answer) : restrict_to(**std::move(answer), names);
    // Injected labels may be only a part of the node's labels.
    const auto unite = row.option == k8s_option ? nest : merge;
    map = TRY(unite(std::move(map), std::move(found)));
    return {};
  }

  const Request& request_;
  std::vector<const Source*> rows_;
  std::vector<std::pair<const Source*, std::future<Answer>>> asked_;
};

// The wanted options, in the table's order. A list, because threads hold pointers to its elements.
std::list<Option> requested_options(const Request& request) {
  std::list<Option> options;
  for (auto first = table.begin(); first != table.end();) {
    const auto last = std::find_if(first, table.end(),
                                   [&](const Source& row) { return row.option != first->option; });
    if (!options.emplace_back(std::span(first, last), request).is_requested()) options.pop_back();
    first = last;
  }
  return options;
}

Result<void> ask(std::list<Option>& options, const std::vector<std::string>& names) {
  for (Option& option : options) {
    if (auto read = option.read_local(names); !read) return read;
  }
  for (Option& option : options) option.start_slow(names);
  for (Option& option : options) {
    if (auto read = option.finish_slow(names); !read) return read;
  }
  return {};
}

std::string coverage_text(const Map& map, std::size_t members) {
  const auto placed = std::ranges::count_if(
      map.hosts, [](const Map::Entry& entry) { return entry.location.path.known(); });
  if (placed == 0) return fmt::format("{} does not contain any level of the network", map.source);
  return fmt::format("{} gives {} for {} of {} nodes", map.source, fmt::join(map.levels, ", "),
                     placed, std::max(members, map.hosts.size()));
}

// Adds the result of one option. If the two contradict each other, the earlier facts stay.
void join_maps(Map& known_so_far, Map found, std::size_t members) {
  if (found.source.empty()) {
    std::ranges::move(found.warnings, std::back_inserter(known_so_far.warnings));
    std::ranges::move(found.notes, std::back_inserter(known_so_far.notes));
    return;
  }
  known_so_far.notes.push_back(coverage_text(found, members));
  if (known_so_far.levels.empty() || found.levels.empty()) {
    // There are no facts that could contradict each other.
    known_so_far = *merge(std::move(known_so_far), std::move(found));
    return;
  }
  std::vector<std::string> warnings = found.warnings;
  auto nested = nest(known_so_far, std::move(found));
  if (nested) {
    known_so_far = *std::move(nested);
    return;
  }
  const Error& error = nested.error();
  known_so_far.warnings.push_back(fmt::format("{}: {}; used {}, which has precedence", error->what,
                                              error->why, known_so_far.source));
  std::ranges::move(warnings, std::back_inserter(known_so_far.warnings));
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
           return !source.option.empty() && is_requested(source, topology);
         });
}

Result<Map> locate(Request request) {
  request.budget = request.topology == "auto" ? auto_budget : named_budget;
  std::vector<std::string> names;
  names.reserve(request.members.size());
  for (const Member& member : request.members) names.push_back(member.name);
  std::list<Option> options = requested_options(request);
  TRY(ask(options, names));
  Map known;
  std::vector<Error> troubles;
  for (Option& option : options) {
    join_maps(known, std::move(option.map), names.size());
    std::ranges::move(option.troubles, std::back_inserter(troubles));
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
    if (requested(source, request)) asked.push_back(source.needs);
  }
  return fail(nothing, fmt::format("no answer from {}", fmt::join(asked, ", ")), std::string(fix));
}

}  // namespace toprun::topology
