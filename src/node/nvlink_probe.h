#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "base/pool.h"
#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// Asks this node's nvidia-smi which NVLink domain its GPUs are in, while the agents find each
// other. It is not started unless the driver has what such domains need (topology/nvlink.h). A
// thread of the pool's waits for it, so that the agent's own loop does not.
//
//   asking --answer or topology::auto_budget--> over
class NvlinkProbe {
 public:
  NvlinkProbe(Pool& pool, const plan::Job& job);

  // Waits until it is over; nullopt: it was not asked.
  boost::asio::awaitable<std::optional<rendezvous::Told>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: it is not asked
};

}  // namespace toprun::node
