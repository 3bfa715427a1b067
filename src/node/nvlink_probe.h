#pragma once

#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// Asks this node's nvidia-smi which NVLink domain its GPUs are in, while the agents find each
// other. It is not started unless the driver has what such domains need (topology/nvlink.h). A
// thread waits for it, so that the agent's own loop does not.
//
//   asking --answer or topology::auto_budget--> over
class NvlinkProbe {
 public:
  NvlinkProbe(boost::asio::io_context& io, const plan::Job& job);
  ~NvlinkProbe();  // waits until it is over

  // Waits until it is over; nullopt: it was not asked.
  boost::asio::awaitable<std::optional<rendezvous::Told>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: it is not asked
  std::thread thread_;
};

}  // namespace toprun::node
