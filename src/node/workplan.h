#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/logs.h"
#include "agent/workers.h"
#include "base/error.h"
#include "base/fd.h"
#include "fabric/settings.h"
#include "hosts/address.h"
#include "node/network_proof.h"
#include "node/workplace.h"
#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// What one attempt's work is planned by. It owns all of that: a thread that hangs may outlive the
// agent.
struct WorkRequest {
  std::shared_ptr<const plan::Job> job;
  Workplace place;
  rendezvous::Assignment assignment;
  std::string master_addr;
  std::optional<hosts::Address> route;  // this host's address on the way to the root
  // Null: nothing is set for the network.
  std::shared_ptr<const fabric::NodeFabric> network;
  std::shared_ptr<agent::Logs> logs;            // of all attempts; null: they are made
  std::optional<std::string> container_folder;  // where there is a container: seen inside too
  std::optional<std::string> node_log;          // is opened
};

// What this node's workers are and where their output goes in one attempt.
struct WorkPlan {
  std::vector<agent::WorkerPlan> workers;
  output::OutputPlan output;  // all but the console
  std::shared_ptr<agent::Logs> logs;
  Fd node_log;
  NetworkProof proof;
};

// Each worker's command, environment, streams and files, which are open. Makes the attempt's log
// folders; says in the first attempt what it sets on the user's behalf. Blocks: names are looked
// up, files are made, programs may be asked.
Result<WorkPlan> plan_work(const WorkRequest& request);

}  // namespace toprun::node
