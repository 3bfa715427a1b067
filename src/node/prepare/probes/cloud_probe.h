#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// Asks this node's cloud provider for the node's location while the agents find each other. The
// provider is asked only if the firmware names a cloud that this --topology uses. With `auto`, if
// Slurm has already provided the location, the cloud's answer is used only if it arrives before the
// agent joins.
//
//   asking --answer or topology::auto_budget--> over
class CloudProbe {
 public:
  CloudProbe(boost::asio::io_context& io, const plan::Job& job);

  // Waits until the query is over. nullopt: no cloud was asked, or its answer is late and not
  // needed.
  boost::asio::awaitable<std::optional<model::CloudPlace>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: no cloud is asked
  bool waited_for_ = true;
};

}  // namespace toprun::probes
