#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/pool.h"
#include "base/process/frames.h"
#include "base/text/clock.h"
#include "machine/container/prepare.h"
#include "node/plan/container_plan.h"
#include "node/prepare/workplace.h"
#include "node/worker/shim_link.h"

namespace toprun::agent {

// Time limit for starting a container, including the time to fetch and unpack its image.
inline constexpr std::chrono::minutes container_start_limit{60};
// Time limit for the container runtime to clean up after the last process in the container has
// ended.
inline constexpr std::chrono::seconds container_end_limit{10};

// The container of this node's ranks, which is the same in all attempts of a run. The container is
// started while the agents find each other. The shim is toprun's process inside the container
// (node/worker/shim.h).
//
//   starting --its shim connects--> up --end()--> ended
//       \--the runtime ends, or container_start_limit--> failed
//
// While this object exists, the process must have no other children except commands
// (base/process/command.h). A NodeContainer reads files and calls the shim on the pool's threads.
class NodeContainer {
 public:
  // `show_life` sends a heartbeat to the keeper, the agent's supervising process, while the event
  // loop does not run.
  NodeContainer(Pool& pool, std::shared_ptr<const plan::Job> job, process::Beat show_life);
  // Kills all remaining processes within death_limit. The keeper (the agent's supervising process)
  // removes the container's folder afterwards.
  ~NodeContainer();
  NodeContainer(const NodeContainer&) = delete;
  NodeContainer& operator=(const NodeContainer&) = delete;

  // Call bring_up() once, with co_spawn.
  boost::asio::awaitable<void> bring_up();
  // Waits until the container is up or has failed. The error contains the reason for the failure.
  boost::asio::awaitable<Result<void>> up();
  // Ends the container and removes its folder. If the container is still starting, its start fails.
  boost::asio::awaitable<void> end();

  // Valid once the container is up.
  std::shared_ptr<worker::ShimLink> shim() const { return shim_; }
  const prepare::Workplace& workplace() const { return workplace_; }
  // Returns the folder that this node's processes share with the container; its path is the same
  // inside. This object removes the folder.
  const std::string& folder() const { return ground_->folder; }

 private:
  // Data that is shared with threads of the pool. The threads may outlive this object.
  struct Ground {
    std::shared_ptr<const plan::Job> job;
    std::string folder;  // the same path inside the container
    plan::ContainerPlan plan;
    std::optional<worker::ShimDoor> door;
    std::optional<container::Preparation> preparation;  // of this container
  };
  using GroundPtr = std::shared_ptr<Ground>;
  static Result<void> lay(Ground& ground);

  template <class T>
  boost::asio::awaitable<Result<T>> beside(std::function<Result<T>()> work);
  boost::asio::awaitable<Result<void>> prepare();
  Result<void> spawn(const container::Command& command);
  boost::asio::awaitable<Result<void>> create();
  boost::asio::awaitable<Result<void>> make();
  boost::asio::awaitable<Result<void>> release();
  boost::asio::awaitable<Result<void>> await_shim();
  boost::asio::awaitable<Result<void>> look_inside();
  boost::asio::awaitable<void> next_event(SteadyTime limit);
  boost::asio::awaitable<void> listen_to_runtime();
  void show(std::string_view words);
  Result<void> goes_on(const std::string& what) const;
  boost::asio::awaitable<void> hear_out();
  boost::asio::awaitable<void> until_nothing_is_left(SteadyTime deadline);
  bool runtime_ended();
  Error explain(const std::string& what) const;
  void tell_progress(std::string_view does);
  bool nothing_left();
  // If a signal ended the container runtime while it started the container, removes what the
  // runtime has left behind. Blocks.
  static bool discard(const Ground& ground);
  void discard_here();

  Pool& pool_;
  boost::asio::io_context& io_;
  const std::shared_ptr<const plan::Job> shared_job_;
  const plan::Job& job_;
  const process::Beat show_life_;
  const SteadyTime began_;
  const GroundPtr ground_;
  boost::asio::posix::stream_descriptor runtime_output_;
  boost::asio::signal_set child_signal_;
  boost::asio::steady_timer event_;    // expires or is cancelled when the state changes
  boost::asio::steady_timer settled_;  // cancelled when outcome_ is known
  std::optional<Result<void>> outcome_;
  std::string words_;  // the end of the runtime's output so far
  SteadyTime next_progress_;
  bool ending_ = false;
  bool cut_off_ = false;  // the runtime was started, but the container is not up yet
  pid_t runtime_ = 0;
  int runtime_status_ = 0;
  std::shared_ptr<worker::ShimLink> shim_;
  prepare::Workplace workplace_;
};

}  // namespace toprun::agent
