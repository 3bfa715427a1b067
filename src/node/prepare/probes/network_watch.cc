#include "node/prepare/probes/network_watch.h"

#include <algorithm>

#include "node/prepare/probes/network_proof.h"

namespace toprun::probes {

NetworkWatch::NetworkWatch(const std::vector<std::string>& logs, fabric::FastPath path)
    : path_(path) {
  for (const std::string& path : logs) logs_.push_back({path, 0, {}});
}

std::optional<std::string> NetworkWatch::look() {
  for (Log& log : logs_) {
    log.read_bytes += read_nccl_log(log.path, log.read_bytes, log.reader);
    const fabric::NcclLog& seen = log.reader.log();
    if (!fabric::uses_plain_sockets(seen)) continue;
    std::string why = "NCCL communicates with other nodes over plain sockets";
    if (const std::string said = fabric::why_not(path_, seen); !said.empty()) {
      why += "; it said: " + said;
    }
    return why;
  }
  return std::nullopt;
}

bool NetworkWatch::is_settled() const {
  return std::ranges::all_of(logs_, [](const Log& log) {
    return log.read_bytes >= max_log_bytes || log.reader.log().leaves_the_node();
  });
}

}  // namespace toprun::probes
