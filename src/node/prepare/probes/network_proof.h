#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/fabric/nccl_log.h"
#include "machine/fabric/proof.h"
#include "node/plan/job.h"

namespace toprun::probes {

// Reads the NCCL logs of a node's workers while they run (--require-rdma), to find a worker that
// communicates with other nodes over plain sockets.
class NetworkWatch {
 public:
  // `logs`: the workers' NCCL logs, which need not exist yet. `path`: the network that the workers
  // must use.
  NetworkWatch(const std::vector<std::string>& logs, fabric::FastPath path);

  // Reads the log lines that were written since the last call, up to a total of max_log_bytes per
  // log. Returns why the workers must not continue, or nullopt if there is no reason so far.
  // Blocks.
  std::optional<std::string> look();

  // True if look() need not be called again. This is the case when each worker's log shows that the
  // worker does not use plain sockets for other nodes, or has reached max_log_bytes.
  bool is_settled() const;

 private:
  struct Log {
    std::string path;
    std::size_t read_bytes = 0;
    fabric::NcclLogReader reader;
  };
  std::vector<Log> logs_;
  fabric::FastPath path_;
};

// The data that show, after an attempt, which network the workers used.
struct NetworkProof {
  std::vector<std::string> nccl_logs;  // the NCCL log of each worker; empty: there are no logs
  // The counters of the RDMA ports, read after the workers had started.
  std::vector<fabric::PortCounters> counters;
};

// Whether toprun lets NCCL write a log. False if the user has set one of NCCL's debugging
// variables.
bool takes_proof(const plan::Job& job, const Environment& workers);

// Sets the variables that make NCCL in a worker log to `file` which network it chooses.
void let_nccl_write(Environment& worker, const std::string& file);

// Returns the error for a node that the run does not accept because of --require-rdma.
Error no_rdma(const std::string& why);

// Reads an NCCL log from an offset, up to max_log_bytes. Returns the number of bytes read, or 0 if
// the file does not exist yet. Blocks.
std::size_t read_nccl_log(const std::string& path, std::size_t offset,
                          fabric::NcclLogReader& reader);

// Determines which network the workers used: reads at most max_log_bytes of each log, and reads the
// counters again. Blocks.
fabric::NetworkUse network_use(const NetworkProof& proof, const fabric::NodeFabric& node);
inline constexpr std::size_t max_log_bytes = 4u << 20;

}  // namespace toprun::probes
