#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/os/pool.h"
#include "base/text/error.h"
#include "decide/topology/source.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// Finds the locations of the members' nodes in the network, from the members' own facts, the engine
// and files. The map is empty if neither the ranks' order nor the workers' settings need locations.
// Blocks while it reads files and runs programs.
Result<topology::Map> locate(const std::vector<model::Join>& members, const plan::Job& job);

// Asks nvidia-smi for the NVLink domain of this node's GPUs while the agents find each other, but
// only if the driver supports such domains (decide/topology/nvlink.h). A thread of the pool waits
// for the answer.
//
//   asking --answer or topology::auto_budget--> over
class NvlinkProbe {
 public:
  NvlinkProbe(Pool& pool, const plan::Job& job);

  // Waits until the query to nvidia-smi is over. nullopt if nvidia-smi was not asked.
  boost::asio::awaitable<std::optional<model::ProgramOutput>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: nvidia-smi is not asked
};

// Asks this node's cloud provider for the node's location while the agents find each other, but
// only if the firmware names a cloud that this --topology uses. With `auto`, if Slurm has already
// provided the location, the cloud's answer is used only if it arrives before the agent joins.
//
//   asking --answer or topology::auto_budget--> over
class CloudProbe {
 public:
  CloudProbe(boost::asio::io_context& io, const plan::Job& job);

  // Waits until the query to the cloud is over, if its answer is needed. nullopt if no cloud was
  // asked, or if its answer is late and not needed.
  boost::asio::awaitable<std::optional<model::CloudPlace>> answer() const;

 private:
  struct Asking;
  std::shared_ptr<Asking> asking_;  // null: no cloud is asked
  bool waited_for_ = true;
};

}  // namespace toprun::probes
