#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/pool.h"
#include "fabric/settings.h"
#include "hosts/address.h"
#include "node/node_container.h"
#include "node/received_signals.h"
#include "output/console.h"
#include "output/own_lines.h"
#include "plan/job.h"
#include "rendezvous/door.h"
#include "store/server.h"

namespace toprun::node {

// Over ssh: how often the launcher says that it lives, when an agent gives it up, and what workers
// that have lost it get from SIGTERM to SIGKILL.
inline constexpr std::chrono::seconds launcher_beat{5};
inline constexpr std::chrono::seconds launcher_silence_limit{30};
inline constexpr std::chrono::milliseconds fence_grace{1'000};

// What one agent process holds while it runs: its event loop, its port, its signals.
class Session {
 public:
  // `heartbeat_fd` of the keeper; -1 where there is none (ranks in place).
  Session(const plan::Job& job, int heartbeat_fd);
  ~Session();

  // Binds the port of this agent's store and, at the root, of the job. `root`: it has to be one of
  // the job's ports. Else the job's first port if it is free, unless the root may be on this very
  // host; the kernel's choice otherwise.
  Result<void> listen(bool root, bool beside_root);
  // Waits until all that was said and printed is written; false: it is not after flush_limit.
  boost::asio::awaitable<bool> flushed();
  // The same at the very end: what is not written by then never is.
  boost::asio::awaitable<void> last_words();
  // From now on the workers' store, without keys, is (or is not) served here. Does not wait.
  void renew_store(bool here, std::function<void()> renewed);
  // Follows what a launcher of ours sends on standard input: "signal N" lines, and its own end.
  void follow_launcher();

  // The keeper hears that this process lives, also while the event loop does not run.
  void show_life();

  const std::size_t open_files;  // how many this process may have
  boost::asio::io_context io;
  Pool pool;  // for what may block
  const std::shared_ptr<const plan::Job>
      shared_job;  // of the pool's work, which may outlive all this
  const plan::Job& job;
  rendezvous::Identity identity;
  rendezvous::Door door;
  std::unique_ptr<store::Server> store;
  int port = 0;
  const WallTime began = std::chrono::system_clock::now();
  // This process's own stdout and stderr.
  std::shared_ptr<output::Terminal> terminal;
  output::OwnLines own_lines{io, *terminal};
  // The address of this host that the root, or at the root its members, reach it at.
  std::optional<hosts::Address> route;
  // What this node's files tell of its network. Null: the job has one node, or --fabric is off.
  std::shared_ptr<const fabric::NodeFabric> network;
  // Of this node, if the ranks run in one.
  std::unique_ptr<NodeContainer> container;
  // Why this node cannot take part.
  std::optional<Error> unfit;
  // Who is told of a signal to this process, or of one that our launcher passes on; `for_all`: of
  // all agents it has told this one only.
  std::function<void(int signal, bool for_all)> on_signal;
  // The run is over and told: a signal that nobody takes ends this process at once.
  std::optional<int> ended_with;
  // Who is told that the keeper is gone, or the connection to the launcher over ssh: in words, with
  // the time that the workers have. Until it is set, the agent then ends at once.
  std::function<void(std::string, std::chrono::milliseconds)> on_orphaned;
  // Who stops the workers at SIGTSTP (true) and lets them go on at SIGCONT; and which was last. An
  // agent itself goes on: without its word its node would count as lost.
  std::function<void(bool)> on_pause;
  bool paused = false;
  // Who is told that the terminal has another size.
  std::function<void()> on_resize;

 private:
  void beat(int heartbeat_fd);
  void take(const ReceivedSignals::Received& received);
  void pause(bool asked);
  void read_launcher();
  void obey(std::string_view line);
  void expect_beat();
  void lose_launcher();
  void orphan(std::string words, std::chrono::milliseconds grace);

  const bool kept_;
  const pid_t parent_;
  ReceivedSignals signals_;
  boost::asio::steady_timer heartbeat_;
  const int heartbeat_fd_;
  boost::asio::posix::stream_descriptor launcher_;
  std::string launcher_line_;
  boost::asio::steady_timer launcher_silence_;
};

}  // namespace toprun::node
