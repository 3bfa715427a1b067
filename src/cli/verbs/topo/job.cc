#include "cli/verbs/topo/job.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/net/address.h"
#include "base/net/host_file.h"
#include "base/net/hostlist.h"
#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/name_index.h"
#include "base/text/text.h"
#include "cli/options/values.h"
#include "decide/topology/source.h"
#include "engines/slurm/variables.h"
#include "machine/fabric/settings.h"

namespace toprun::cli {
namespace {

using options::Command;
using options::FlagId;

// A launch's list may contain numbers of processes and user names: "a:4,me@b".
Result<std::vector<placement::Host>> named_hosts(const options::Argument& argument, int nproc) {
  const auto named = TRY(hosts::parse_hosts(argument.value, argument.source));
  std::vector<placement::Host> hosts;
  for (const hosts::NamedHost& host : named) {
    hosts.push_back({host.name, host.slots.value_or(nproc)});
  }
  return hosts;
}

// A host list, possibly much longer than a launch's.
Result<std::vector<placement::Host>> listed_hosts(const options::Argument& argument, int nproc) {
  auto names = hosts::expand_hostlist(argument.value);
  if (!names) {
    Error error = names.error();
    error->what = fmt::format("{}: {}", argument.source, error->what);
    return std::unexpected(error);
  }
  if (names->empty()) return usage(argument.source + ": the list names no host");
  const auto name_at = [&](std::size_t i) -> std::string_view { return (*names)[i]; };
  NameIndex seen;
  seen.expect(names->size());
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (!seen.add(name_at(i), i, name_at).second) {
      return usage(
          fmt::format("{}: host {} appears twice in the list", argument.source, name_at(i)), {},
          "name each host once");
    }
  }
  std::vector<placement::Host> hosts;
  hosts.reserve(names->size());
  for (std::string& name : *names) hosts.push_back({std::move(name), nproc});
  return hosts;
}

// The hosts from the user or from Slurm; empty: neither names any.
Result<std::vector<placement::Host>> hosts_of(const options::Call& call, int nproc) {
  if (const auto argument = call.argument(FlagId::hosts)) {
    const bool as_a_launch = argument->value.find_first_of(":@") != std::string::npos;
    return as_a_launch ? named_hosts(*argument, nproc) : listed_hosts(*argument, nproc);
  }
  for (const char* variable : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    const bool of_step = std::string_view(variable).contains("STEP");
    if (of_step && engines::slurm::in_shell_step(call.environment)) continue;
    if (auto list = call.environment.non_empty(variable)) {
      return listed_hosts({variable, *list, true}, nproc);
    }
  }
  return std::vector<placement::Host>();
}

// "gpu" in a variable or a file is a number on the launch's nodes only.
Result<int> processes_of(const options::Call& call) {
  if (!options::knows(call.command, options::flag_of(FlagId::nproc_per_node, Command::topo_order)))
    return 1;
  const auto argument = call.argument(FlagId::nproc_per_node);
  const bool is_for_launches = argument && !argument->is_typed() && !parse_int(argument->value);
  if (!argument || is_for_launches) return 1;
  return options::parse_number(*argument, 1, options::max_processes_per_node);
}

// Only this node's environment is known, so only one member has an address.
topology::Request request_for(const std::vector<placement::Host>& hosts,
                              const std::string& topology, const Environment& environment) {
  topology::Request request{topology, {}, environment};
  request.outside_of_jobs = !environment.non_empty("SLURM_JOB_ID");
  request.members.reserve(hosts.size());
  const std::string own = environment.get("SLURMD_NODENAME").value_or("");
  for (const placement::Host& host : hosts) {
    topology::Member& member = request.members.emplace_back();
    member.name = host.name;
    if (host.name == own) {
      member.address = environment.get("SLURM_TOPOLOGY_ADDR").value_or("");
      member.pattern = environment.get("SLURM_TOPOLOGY_ADDR_PATTERN").value_or("");
    }
  }
  return request;
}

// A network of 100,000 hosts is half a million small blocks of memory, and the process ends with
// what it prints: memory comes in one large step, in huge pages where the kernel has them, and none
// of it goes back before. That saves a third of the time, most of it the kernel's.
void take_memory_in_a_large_step() {
  constexpr std::size_t step_bytes = 128 << 20;  // addresses, not memory: it comes when it is used
  constexpr std::size_t huge_page_bytes = 2 << 20;
  constexpr int never_bytes = 1 << 30;
  ::mallopt(M_TOP_PAD, step_bytes);
  ::mallopt(M_TRIM_THRESHOLD, never_bytes);
  ::mallopt(M_MMAP_THRESHOLD, never_bytes);
  ::mallopt(M_MXFAST, 0);  // no lists that each large block would go through
  void* const step = std::malloc(step_bytes);
  void* first = step;
  std::size_t left = step_bytes;
  if (std::align(huge_page_bytes, left - huge_page_bytes, first, left) != nullptr) {
    ::madvise(first, left, MADV_HUGEPAGE);
  }
  std::free(step);
}

// All hosts of the map. A file's stand in its order; what an engine tells has the map's own, so
// they stand by name, as the engine would number them.
std::vector<placement::Host> all_hosts(const PlacedJob& job) {
  std::vector<placement::Host> hosts;
  for (const auto& entry : job.map.hosts) hosts.push_back({entry.host, job.nproc_per_node});
  std::error_code error;
  if (!std::filesystem::exists(job.topology, error)) {
    std::ranges::sort(hosts, natural_less, &placement::Host::name);
  }
  return hosts;
}

// The adapters of this machine stand for those of all hosts of the job, if it is one of them.
void add_own_rates(PlacedJob& job, const Environment& environment) {
  const fabric::Sysfs sysfs;
  if (job.map.links.contains(topology::host_level) || sysfs.names("sys/class/infiniband").empty()) {
    return;
  }
  const std::string own = hosts::host_name();
  const bool is_in_job = std::ranges::any_of(
      job.hosts, [&](const placement::Host& host) { return hosts::same_host(host.name, own); });
  if (!is_in_job) return;
  const fabric::NodeFabric node = fabric::read_node(sysfs, environment);
  topology::add_host_link(job.map, fabric::chosen_gbps(node.devices, node.choice));
}

using options::FlagId;

Result<std::size_t> nodes_in(const options::Call& call, FlagId id, std::size_t unless_given) {
  const auto argument = call.argument(id);
  if (!argument) return unless_given;
  const auto number = TRY(options::parse_number(*argument, 1, options::max_nodes));
  return static_cast<std::size_t>(number);
}

// Host lists, one or more per line, "#" begins a comment.
Result<std::vector<std::string>> earlier_order(const options::Call& call) {
  const auto file = call.text(FlagId::earlier_order);
  if (!file) return std::vector<std::string>{};
  const auto text = TRY(read_file(*file));
  return placement::read_order(text, *file);
}

}  // namespace

Result<PlacedJob> find_job(const options::Call& call) {
  take_memory_in_a_large_step();
  PlacedJob job;
  job.topology = call.text(FlagId::topology).value_or("auto");
  const auto processes = TRY(processes_of(call));
  job.nproc_per_node = processes;
  auto hosts = TRY(hosts_of(call, processes));
  job.hosts = std::move(hosts);
  job.map = TRY(topology::locate(request_for(job.hosts, job.topology, call.environment)));
  if (job.hosts.empty()) job.hosts = all_hosts(job);
  add_own_rates(job, call.environment);
  if (!job.hosts.empty()) return job;
  return usage("no hosts are known",
               job.map.warnings.empty()
                   ? "toprun does not run in a Slurm job, and no topology file is given"
                   : job.map.warnings.front(),
               "give --hosts LIST or --topology FILE");
}

Result<OrderText> read_order_option(const std::string& order) {
  constexpr std::string_view prefix = "file:";
  const bool is_file = order.starts_with(prefix);
  const std::string file = is_file ? order.substr(prefix.size()) : order;
  auto text = read_file(file);
  if (text) return OrderText{*std::move(text), file};
  const bool is_list = order.find_first_of(",[") != order.npos && order.find('/') == order.npos;
  if (is_list && !is_file) return OrderText{order, "--order", false};
  return std::unexpected(text.error());
}

void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) say(printable(warning));
  if (source.empty()) {
    say("nothing is known about the network, so the nodes keep their order; describe the network "
        "with --topology FILE");
  }
}

Result<placement::Constraints> constraints_of(const options::Call& call,
                                              std::optional<placement::Plan> plan) {
  const auto segment = TRY(nodes_in(call, FlagId::segment, 1));
  const auto nodes = TRY(nodes_in(call, FlagId::requested_nodes, 0));
  auto before = TRY(earlier_order(call));
  return placement::Constraints{
      .segment = segment, .nodes = nodes, .plan = std::move(plan), .before = std::move(before)};
}

}  // namespace toprun::cli
