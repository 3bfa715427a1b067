#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// Asks nvidia-smi for the NVLink domain of this node's GPUs while the agents find each other.
// nvidia-smi is asked only if the driver supports such domains (decide/topology/nvlink.h). A thread
// of the pool waits for the answer.
//
//   asking --answer or topology::auto_budget--> over
class NvlinkProbe {
 public:
  NvlinkProbe(Pool& pool, const plan::Job& job);

  // Waits until the query is over; nullopt: nvidia-smi was not asked.
  boost::asio::awaitable<std::optional<model::ProgramOutput>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: nvidia-smi is not asked
};

}  // namespace toprun::probes
