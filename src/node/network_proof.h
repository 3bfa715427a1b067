#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "fabric/proof.h"
#include "plan/job.h"

namespace toprun::node {

// The sources for telling after an attempt which network its workers used.
struct NetworkProof {
  std::vector<std::string> nccl_logs;          // of each worker; empty: nothing is kept
  std::vector<fabric::PortCounters> counters;  // of the RDMA ports before
};

// Whether NCCL's lines may be kept: the user set none of NCCL's variables for debugging.
bool takes_proof(const plan::Job& job, const Environment& workers);

// Sets the variables that make a worker's NCCL log its decisions to `file`.
void let_nccl_write(Environment& worker, const std::string& file);

// Reads the logs, at most max_log_bytes of each, and the counters again. Blocks.
fabric::NetworkUse network_use(const NetworkProof& proof, const fabric::NodeFabric& node);
inline constexpr std::size_t max_log_bytes = 4u << 20;

}  // namespace toprun::node
