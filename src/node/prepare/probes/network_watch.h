#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "machine/fabric/nccl_log.h"

namespace toprun::probes {

// Reads the NCCL logs of a node's workers while they run (--require-rdma), to find a worker that
// communicates with other nodes over plain sockets.
class NetworkWatch {
 public:
  // `logs`: the workers' NCCL logs, which need not exist yet. `path`: the network that the workers
  // must use.
  NetworkWatch(const std::vector<std::string>& logs, fabric::FastPath path);

  // Reads the lines since the last look, up to a total of max_log_bytes per log. Returns why the
  // workers must not continue; nullopt: no reason so far. Blocks.
  std::optional<std::string> look();

  // True: no further look is needed. For each worker, the log shows that the worker does not use
  // plain sockets for other nodes, or the log has reached the limit.
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

}  // namespace toprun::probes
