#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/logs.h"
#include "agent/workers.h"
#include "base/error.h"
#include "hosts/address.h"
#include "node/workplace.h"
#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// What this node's workers are and where their output goes in one attempt.
struct WorkPlan {
  std::vector<agent::WorkerPlan> workers;
  agent::OutputPlan output;  // all but the console
};

// Each worker's command, environment, streams and files. Makes the attempt's log folders; says in
// the first attempt what it sets on the user's behalf. `route`: this host's address on the way to
// the root, for GLOO_SOCKET_IFNAME.
Result<WorkPlan> plan_work(const plan::Job& job, const Workplace& place,
                           const rendezvous::Assignment& assignment, const std::string& master_addr,
                           const std::optional<hosts::Address>& route, const agent::Logs& logs);

}  // namespace toprun::node
