#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "cli/parse.h"
#include "options/flags.h"
#include "placement/order.h"
#include "topology/tree.h"

namespace toprun::cli {

// What the verbs of `toprun topo` share: which hosts, and what is known of their places.

struct JobOptions {
  std::string topology = "auto";
  std::optional<std::string> hosts;
  int nproc_per_node = 1;
};

// Adds --topology and --hosts.
void add_job_options(CLI::App& app, JobOptions& options);
// Adds --nproc-per-node.
void add_processes_option(CLI::App& app, JobOptions& options);

// Gives the app's options of these flags that were not given what a launch from here would give
// them: their variable's value, else a configuration file's. An exit code as of parse().
std::optional<int> fill_as_launched(CLI::App& app, const Environment& environment,
                                    std::span<const options::FlagId> flags);

// What all of them take from a launch.
inline constexpr std::array job_flags = {options::FlagId::topology};
inline constexpr std::array rank_flags = {options::FlagId::topology,
                                          options::FlagId::nproc_per_node};

struct Job {
  std::vector<placement::Host> hosts;
  topology::Map map;
};

// Hosts: --hosts, else the Slurm step or allocation, else all that the topology knows. Outside of a
// job `auto` asks the Slurm of this machine what its jobs would find.
Result<Job> find_job(const JobOptions& options, const Environment& environment);

// Says what evidence is missing (stderr): the warnings, and where nothing is known at all.
void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings);

}  // namespace toprun::cli
