#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "machine/fabric/nccl_log.h"

namespace toprun::probes {

// Reads what NCCL writes in a node's workers while they run (--require-rdma), to find a worker that
// communicates with other nodes over plain sockets.
class NetworkWatch {
 public:
  // The logs of the workers, which need not exist yet, and what they are to use.
  NetworkWatch(const std::vector<std::string>& logs, fabric::FastPath path);

  // Reads what was added since the last look, at most max_log_bytes of each log in all. Returns why
  // the workers must not go on; nullopt: no reason so far. Blocks.
  std::optional<std::string> look();

  // Every worker communicates with other nodes by another network than plain sockets, or its log
  // has reached the limit: there is nothing more to look for.
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
