#include "cli/topo_job.h"

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/name_index.h"
#include "base/print.h"
#include "base/text.h"
#include "config/config.h"
#include "hosts/hostlist.h"
#include "options/given.h"
#include "options/values.h"
#include "scheduler/slurm_variables.h"
#include "topology/source.h"

namespace toprun::cli {
namespace {

// The list of hosts that the user or Slurm gives, and where it comes from.
struct HostList {
  std::string text;
  std::string source;
};

std::optional<HostList> host_list(const JobOptions& options, const Environment& environment) {
  if (options.hosts) return HostList{*options.hosts, "--hosts"};
  for (const char* variable : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    const bool of_step = std::string_view(variable).contains("STEP");
    if (of_step && scheduler::slurm::in_shell_step(environment)) continue;
    if (auto list = environment.non_empty(variable)) return HostList{*list, variable};
  }
  return std::nullopt;
}

Result<std::vector<std::string>> expand(const HostList& list) {
  auto hosts = hosts::expand_hostlist(list.text);
  if (!hosts) {
    Error error = hosts.error();
    error.what = fmt::format("{}: {}", list.source, error.what);
    return std::unexpected(error);
  }
  const auto name_at = [&](std::size_t i) -> std::string_view { return (*hosts)[i]; };
  NameIndex seen;
  seen.expect(hosts->size());
  for (std::size_t i = 0; i < hosts->size(); ++i) {
    if (!seen.add(name_at(i), i, name_at).second) {
      return usage(fmt::format("{}: host {} stands twice in the list", list.source, name_at(i)), {},
                   "name each host once");
    }
  }
  if (hosts->empty()) return usage(list.source + ": the list names no host");
  return hosts;
}

// Only this node's own environment is at hand, so only one member comes with an address.
topology::Request request_for(const std::vector<std::string>& hosts, const std::string& topology,
                              const Environment& environment) {
  topology::Request request{topology, {}, environment};
  request.outside_of_jobs = !environment.non_empty("SLURM_JOB_ID");
  request.members.reserve(hosts.size());
  const std::string own = environment.get("SLURMD_NODENAME").value_or("");
  for (const std::string& host : hosts) {
    topology::Member& member = request.members.emplace_back();
    member.name = host;
    if (host == own) {
      member.address = environment.get("SLURM_TOPOLOGY_ADDR").value_or("");
      member.pattern = environment.get("SLURM_TOPOLOGY_ADDR_PATTERN").value_or("");
    }
  }
  return request;
}

// A value that only a launch can make something of, as "gpu" processes per node.
bool is_for_launches(const options::Flag& flag, const std::string& value) {
  return flag.id == options::FlagId::nproc_per_node && !parse_int(value);
}

Result<void> fill(CLI::App& app, const Environment& environment,
                  std::span<const options::FlagId> ids) {
  options::Split given;
  for (const options::FlagId id : ids) {
    const options::Flag& flag = options::flag_of(id);
    const CLI::Option* option = app.get_option(std::string(flag.name));
    for (const std::string& value : option->results()) given.options.push_back({&flag, value});
  }
  const auto whole = config::with_config(given, options::Dialect::run, environment);
  if (!whole) return std::unexpected(whole.error());
  for (const options::FlagId id : ids) {
    const options::Flag& flag = options::flag_of(id);
    CLI::Option* option = app.get_option(std::string(flag.name));
    if (option->count() > 0) continue;
    bool any = false;
    for (const options::Given& value : options::all_given(flag, whole->split, whole->environment)) {
      if (is_for_launches(flag, value.value)) continue;
      option->add_result(value.value);
      any = true;
    }
    if (any) option->run_callback();
  }
  return {};
}

}  // namespace

void add_job_options(CLI::App& app, JobOptions& options) {
  app.add_option(
         "--topology", options.topology,
         "auto, slurm, k8s, name:REGEX, or a file: lines HOST /cluster/rack/HOST, TOML, JSON, "
         "YAML, topology.conf, topology.yaml (FILE:NAME takes one of its topologies), a dump of "
         "ibnetdiscover; - is standard input")
      ->type_name("FILE|SOURCE");
  app.add_option("--hosts", options.hosts,
                 "the job's hosts, as in n[0-3,7]; else the Slurm allocation's, else the file's")
      ->type_name("LIST");
}

void add_processes_option(CLI::App& app, JobOptions& options) {
  app.add_option("--nproc-per-node,--nproc_per_node", options.nproc_per_node,
                 "processes per node, 1 unless given")
      ->type_name("N")
      ->check(CLI::Range(1, options::max_processes_per_node));
}

std::optional<int> fill_as_launched(CLI::App& app, const Environment& environment,
                                    std::span<const options::FlagId> flags) {
  try {
    const auto filled = fill(app, environment, flags);
    return filled ? std::nullopt : std::optional(give_up(filled.error()));
  } catch (const CLI::ParseError& error) {
    return give_up(usage(app.get_name(), error.what(), "a variable or a file says so").error());
  }
}

Result<Job> find_job(const JobOptions& options, const Environment& environment) {
  std::vector<std::string> names;
  if (const auto list = host_list(options, environment)) {
    auto hosts = expand(*list);
    if (!hosts) return std::unexpected(hosts.error());
    names = *std::move(hosts);
  }
  auto map = topology::locate(request_for(names, options.topology, environment));
  if (!map) return std::unexpected(map.error());
  if (names.empty()) {
    for (const auto& entry : map->hosts) names.push_back(entry.host);
  }
  if (names.empty()) {
    return usage("no hosts are known",
                 map->warnings.empty() ? "this is no Slurm job and no topology file is given"
                                       : map->warnings.front(),
                 "give --hosts LIST or --topology FILE");
  }
  Job job{{}, *std::move(map)};
  job.hosts.reserve(names.size());
  for (std::string& name : names) job.hosts.push_back({std::move(name), options.nproc_per_node});
  return job;
}

void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) say(printable(warning));
  if (source.empty()) {
    say("nothing is known about the network: the order is as given; give --topology FILE");
  }
}

}  // namespace toprun::cli
