#include "engines/kubernetes/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engines/kubernetes/placing.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::array<std::string_view, 5> reserved_variables = {
    "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"};

Result<void> check_sizes(const Workload& job) {
  const std::size_t own_variables = job.nodes > 1 ? 1 : 0;  // NODE_NAME
  const std::size_t variables = job.variables.size() + job.secret_variables.size();
  if (variables + own_variables > most_variables) {
    return usage(
        fmt::format("the job has {} variables", variables),
        fmt::format("a TrainJob can have at most {} variables", most_variables - own_variables),
        "set some variables in the image, or use --operator jobset");
  }
  if (job.image.size() > longest_image) {
    return usage(
        "--container " + job.image,
        fmt::format("the name of a TrainJob's image can have at most {} bytes", longest_image),
        "give the image a shorter tag, or use --operator jobset");
  }
  return {};
}

Result<void> check_variables(const Workload& job) {
  for (const auto& [name, value] : job.variables) {
    if (std::ranges::find(reserved_variables, name) == reserved_variables.end()) continue;
    return usage(
        "-e " + name,
        "the Kubeflow trainer sets this variable itself and refuses a TrainJob that sets it",
        "leave this -e out: --nodes and --nproc-per-node determine the variable");
  }
  return {};
}

Result<void> check_runtime(const Workload& job) {
  const Placement& placement = job.placement;
  if (!job.folder.empty()) {
    return usage("--chdir " + job.folder, "a TrainJob cannot set the working directory of its pods",
                 "name the script by its whole path");
  }
  if (!job.env_from.empty()) {
    return usage("--env-from " + job.env_from.front(),
                 "a TrainJob can take only single variables from a Secret",
                 "use --secret-env NAME=SECRET:KEY for each variable, or use --operator jobset");
  }
  if (job.host_network) {
    return usage(
        "--host-network", "a TrainJob cannot change the network of its runtime's pods",
        "use --operator jobset, or choose a runtime with the host's network with --runtime");
  }
  if (!placement.priority_class.empty() && placement.placer != Placer::kueue) {
    return usage("--priority-class " + placement.priority_class,
                 "a TrainJob cannot change the priority of its runtime's pods",
                 "use --operator jobset, or --queue for Kueue's priorities");
  }
  const std::string_view scheduler = scheduler_name(placement.placer);
  if (!scheduler.empty() && job.runtime.empty()) {
    return usage("--scheduler", "a TrainJob cannot change the scheduler of its runtime's pods",
                 fmt::format("name a runtime with schedulerName {} by --runtime, or use "
                             "--operator jobset",
                             scheduler));
  }
  return {};
}

Result<void> check_pools(const Placement& placement) {
  const bool has_label = placement.placer == Placer::kai || placement.placer == Placer::runai;
  if (!has_label || placement.pools.size() < 2) return {};
  return usage("--node-pool " + placement.pools[1], "this scheduler accepts only one node pool",
               "name only one pool");
}

// What Pod Security refuses at the level `restricted` whatever the rest says.
Result<void> check_restricted(const Workload& job) {
  if (!job.restricted) return {};
  if (job.run_as && job.run_as->user == 0) {
    return usage("--run-as 0", "restricted pods may not run as root", "name another user's number");
  }
  if (job.host_network || job.locks_memory) {
    return usage(job.host_network ? "--host-network" : "--ipc-lock",
                 "restricted pods may not use this option",
                 "leave it out, or use another namespace");
  }
  return {};
}

Result<void> check_trainjob(const Workload& job) {
  auto done = check_sizes(job);
  if (done) done = check_variables(job);
  return done ? check_runtime(job) : done;
}

}  // namespace

Result<void> check(Operator which, const Workload& job) {
  auto done = check_pools(job.placement);
  if (done) done = check_restricted(job);
  if (done && which == Operator::trainjob) done = check_trainjob(job);
  if (!done) return done;
  if (which != Operator::trainjob && !job.runtime.empty()) {
    return usage("--runtime " + job.runtime, "only a TrainJob uses a runtime",
                 "use --operator trainjob, or leave --runtime out");
  }
  if (!job.least_nodes || which == Operator::pytorchjob) return {};
  return usage(fmt::format("{} to {} nodes", *job.least_nodes, job.nodes),
               "only PyTorchJobs are elastic",
               "use --operator pytorchjob, or give one number of nodes");
}

}  // namespace toprun::engines::kubernetes
