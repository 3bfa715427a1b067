#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// Asks this node's cloud where the node is, while the agents find each other. Nobody is asked
// unless the firmware names a cloud that has something to say for this --topology. Where Slurm has
// told us, `auto` takes what the cloud has answered by the time of the join and does not wait.
//
//   asking --answer or topology::auto_budget--> over
class CloudProbe {
 public:
  CloudProbe(boost::asio::io_context& io, const plan::Job& job);

  // Waits until it is over; nullopt: nobody was asked, or nobody is waited for and there is none
  // yet.
  boost::asio::awaitable<std::optional<rendezvous::CloudPlace>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: nobody is asked
  bool waited_for_ = true;
};

}  // namespace toprun::node
