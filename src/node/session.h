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
#include "node/end_signals.h"
#include "node/node_container.h"
#include "node/received_signals.h"
#include "output/console.h"
#include "output/own_lines.h"
#include "plan/job.h"
#include "rendezvous/door.h"
#include "store/server.h"
#include "workplace/prefetch.h"
#include "workplace/staging.h"
#include "workplace/warm_start.h"

namespace toprun::node {

// With logins: the interval of the launcher's heartbeats, the silence after which an agent gives it
// up, and the time from SIGTERM to SIGKILL for workers that lost it.
inline constexpr std::chrono::seconds launcher_beat{5};
inline constexpr std::chrono::milliseconds fence_grace{1'000};

// The resources of one agent process: its event loop, its port, its signals.
class Session {
 public:
  // `heartbeat_fd` leads to the keeper; -1 without one (ranks in place).
  Session(const plan::Job& job, int heartbeat_fd);
  ~Session();

  // Binds the port of this agent's store and, at the root, of the job. With `root` it must be one
  // of the job's ports. Otherwise it is the job's first port if that is free and the root cannot be
  // on this host, else a port that the kernel chooses.
  Result<void> listen(bool root, bool beside_root);
  // Waits until all output is written; false if that takes longer than flush_limit.
  boost::asio::awaitable<bool> flushed();
  // The same at the very end: output that is not written by then is lost.
  boost::asio::awaitable<void> last_words();
  // Starts (or stops) serving the workers' store here, without keys, to so many ranks. Does not
  // wait.
  void renew_store(bool here, int ranks, std::function<void()> renewed);
  // Reads toprun's launcher on standard input: "signal N" lines, and end of file when it ended.
  Result<void> follow_launcher();

  // Sends the keeper a heartbeat, also while the event loop does not run.
  void show_life();

  const std::size_t open_files;  // the limit of this process
  boost::asio::io_context io;
  Pool pool;  // for blocking work
  const std::shared_ptr<const plan::Job>
      shared_job;  // shared with the pool's work, which may outlive the session
  const plan::Job& job;
  rendezvous::Identity identity;
  rendezvous::Door door;
  std::unique_ptr<store::Server> store;
  int port = 0;
  // This is the root, and the user's endpoint is no address of this host.
  bool leaves_endpoint = false;
  const WallTime began = std::chrono::system_clock::now();
  // This process's own stdout and stderr.
  std::shared_ptr<output::Terminal> terminal;
  output::OwnLines own_lines{io, *terminal};
  // The address at which the root reaches this host; in the root's process, at which members do.
  std::optional<hosts::Address> route;
  // This node's network as its files describe it. Null: the job has one node, or --fabric is off.
  std::shared_ptr<const fabric::NodeFabric> network;
  // This node's container, if its ranks run in one.
  std::unique_ptr<NodeContainer> container;
  // This node's copy of the environment, with --stage.
  std::unique_ptr<workplace::Staging> staging;
  // The warm parent of this node's ranks, with --warm.
  std::unique_ptr<workplace::WarmStart> warm;
  // The reading of what this node's ranks import, with --prefetch.
  std::unique_ptr<workplace::Prefetch> prefetch;
  // Why this node cannot take part.
  std::optional<Error> unfit;
  // The handler of signals to this process and of those that our launcher forwards, each wish to
  // end once (EndSignals); `for_all`: the launcher sent it to this agent only, and it is meant for
  // the whole run.
  std::function<void(int signal, bool for_all)> on_signal;
  // Set when the run is over and reported: a signal without a handler then ends this process.
  std::optional<int> ended_with;
  // The handler for the loss of the keeper or of the launcher of logins; it receives the reason and
  // the workers' grace period. Without a handler the agent ends at once.
  std::function<void(std::string, std::chrono::milliseconds)> on_orphaned;
  // The handler that stops the workers at SIGTSTP (true) and continues them at SIGCONT, and the
  // last state. The agent itself keeps running: without its heartbeats its node would count as
  // lost.
  std::function<void(bool)> on_pause;
  bool paused = false;
  // The handler for the coming of the last of the store's ranks, and for the last one's meeting.
  std::function<void()> on_arrivals;
  // The handler for a rank's word, in the store here, that it has given up waiting for others.
  std::function<void(hang::Alarm)> on_alarm;
  // The handler of SIGWINCH: the terminal has another size.
  std::function<void()> on_resize;

 private:
  void watch_store();
  void take_turn_of_store();
  void beat(int heartbeat_fd);
  void take(const ReceivedSignals::Received& received);
  void hand_on(int signal, bool for_all, EndSignals::Way way);
  void pause(bool asked);
  void read_launcher();
  void obey(std::string_view line);
  void expect_beat();
  void lose_launcher();
  void orphan(std::string words, std::chrono::milliseconds grace);

  boost::asio::posix::stream_descriptor store_ready_;  // while the store has no thread
  boost::asio::steady_timer store_due_;
  const bool kept_;
  const pid_t parent_;
  ReceivedSignals signals_;
  EndSignals end_signals_;
  boost::asio::steady_timer heartbeat_;
  const int heartbeat_fd_;
  boost::asio::posix::stream_descriptor launcher_;
  std::string launcher_line_;
  boost::asio::steady_timer launcher_silence_;
};

}  // namespace toprun::node
