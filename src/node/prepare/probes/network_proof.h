#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/fabric/proof.h"
#include "node/plan/job.h"

namespace toprun::probes {

// The sources for telling after an attempt which network its workers used.
struct NetworkProof {
  std::vector<std::string> nccl_logs;          // of each worker; empty: nothing is kept
  std::vector<fabric::PortCounters> counters;  // of the RDMA ports when the workers had started
};

// Whether NCCL's lines may be kept: the user set none of NCCL's variables for debugging.
bool takes_proof(const plan::Job& job, const Environment& workers);

// Sets the variables that make a worker's NCCL log its decisions to `file`.
void let_nccl_write(Environment& worker, const std::string& file);

// The error of a node that --require-rdma excludes.
Error no_rdma(const std::string& why);

// Reads a log from an offset on, and at most to max_log_bytes; returns the number of bytes read, 0
// if there is no such file yet. Blocks.
std::size_t read_nccl_log(const std::string& path, std::size_t offset,
                          fabric::NcclLogReader& reader);

// Reads the logs, at most max_log_bytes of each, and the counters again. Blocks.
fabric::NetworkUse network_use(const NetworkProof& proof, const fabric::NodeFabric& node);
inline constexpr std::size_t max_log_bytes = 4u << 20;

}  // namespace toprun::probes
