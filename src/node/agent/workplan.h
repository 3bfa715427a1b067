#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"
#include "machine/fabric/settings.h"
#include "node/plan/job.h"
#include "node/prepare/probes/network_proof.h"
#include "node/prepare/workplace.h"
#include "node/worker/logs.h"
#include "node/worker/workers.h"
#include "run/model/messages.h"

namespace toprun::agent {

// Time limit for looking up this host's own name.
inline constexpr std::chrono::milliseconds own_name_limit{2'000};

// The input of plan_work(), which plans one attempt's workers. A WorkRequest owns all its data,
// because a thread that hangs may outlive the agent.
struct WorkRequest {
  std::shared_ptr<const plan::Job> job;
  prepare::Workplace place;
  model::Assignment assignment;
  std::string master_addr;
  std::optional<hosts::Address> route;  // this host's address on the way to the root
  // Null: no network variables are set.
  std::shared_ptr<const fabric::NodeFabric> network;
  std::shared_ptr<worker::Logs> logs;  // the same object for all attempts; null: plan_work()
                                       // creates it
  std::optional<std::string>
      container_folder;                 // a folder that has the same path inside the container
  std::optional<std::string> node_log;  // the path of the file to open
};

// This node's workers in one attempt, and the destinations of their output. plan_work() fills it.
struct WorkPlan {
  std::vector<worker::WorkerPlan> workers;
  output::OutputPlan output;  // without the console
  std::shared_ptr<worker::Logs> logs;
  Fd node_log;
  probes::NetworkProof proof;
};

// Plans each worker's command, environment and streams, opens its files and creates the attempt's
// log folders. In the first attempt, prints which variables toprun sets. Blocks, because it looks
// up names, creates files and may run programs.
Result<WorkPlan> plan_work(const WorkRequest& request);

// Returns the CPUs that --numa-binding assigns to each worker of this process; empty without
// --numa-binding. Reads the machine's topology. With -v, prints every worker's CPUs. If the machine
// has no GPUs, prints that the ranks are spread evenly over its NUMA nodes.
Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const model::Assignment& assignment);

}  // namespace toprun::agent
