#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "launch/job.h"
#include "rendezvous/messages.h"

namespace toprun::launch {

// Asks this node's cloud where the node is, while the agents find each other. Nobody is asked
// unless the firmware names a cloud that has something to say for this --topology, and not by
// `auto` where Slurm has told us; then there is an answer at once.
//
//   asking --answer or topology::probe_budget--> over
class CloudProbe {
 public:
  CloudProbe(boost::asio::io_context& io, const Job& job);

  // Waits until it is over; nullopt: nobody was asked.
  boost::asio::awaitable<std::optional<rendezvous::CloudPlace>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: nobody is asked
};

}  // namespace toprun::launch
