#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/net/address.h"
#include "base/os/pool.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "machine/fabric/settings.h"
#include "node/agent/node_container.h"
#include "node/agent/progress.h"
#include "node/link/secret.h"
#include "node/output/console.h"
#include "node/plan/job.h"
#include "node/prepare/prefetch.h"
#include "node/prepare/staging.h"
#include "node/prepare/warm_start.h"
#include "node/store/server.h"
#include "node/worker/children.h"
#include "run/model/messages.h"

namespace toprun::agent {

// The time from SIGTERM to SIGKILL for workers whose agent has lost its connection to the root, or
// to the launcher that started the agent over ssh.
inline constexpr std::chrono::milliseconds fence_grace{1'000};

// The services that Root and Member, the drivers of a run, get from their process. In the program,
// a Session provides these services; in a simulation, node/rehearsal provides them.
class Services {
 public:
  // All references must outlive this object. `agent`: this agent's id.
  Services(boost::asio::io_context& loop, std::shared_ptr<const plan::Job> shared,
           std::string agent)
      : io(loop),
        pool(loop),
        shared_job(std::move(shared)),
        job(*shared_job),
        agent_id(std::move(agent)),
        unfit(job.unfit) {}
  virtual ~Services() = default;
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // How the root admits agents. The root decides which agents may join, and gets a link to each of
  // them.
  struct Admission {
    std::function<std::optional<model::Refused>(const model::Join&)> admit;
    // `theirs`: the agent's address as this host sees it. `ours`: the address at which the agent
    // reached this host.
    std::function<void(const model::Join&, std::shared_ptr<model::Link>, std::string theirs,
                       std::string ours)>
        joined;
  };
  virtual void become_root(link::Secret secret, Admission admission) = 0;

  // Callbacks for events in this agent's store during one attempt. The callbacks are called on the
  // event loop's thread.
  struct StoreNews {
    std::function<void()> renewed;
    // `arrived` is called twice: when the last rank has connected to the store, and when the last
    // rank has asked for a process group's key.
    std::function<void()> arrived;
    std::function<void(hang::Alarm)> alarmed;  // a rank has stopped waiting for other ranks
  };
  // If `here` is true, starts an empty store for this number of ranks on this node. If `here` is
  // false, ends the store. Does not wait.
  virtual void renew_store(bool here, int ranks, StoreNews news) = 0;
  virtual store::Server::ArrivalCounts arrival_counts() const = 0;
  virtual std::vector<store::Arrival> arrivals() const = 0;
  virtual store::Server::Activity activity() const = 0;
  // Returns the address at which this host reaches the store of another agent.
  virtual boost::asio::awaitable<Result<hosts::Address>> find_store(model::StoreAddress store) = 0;

  // Returns an object that starts and reaps the processes of one attempt's workers.
  virtual std::shared_ptr<worker::Children> children() = 0;
  // Shows lines of another node's workers. Calls `taken` once that node may send more lines, before
  // or after show() returns.
  virtual void show(const std::string& host, bool is_err, std::string lines,
                    std::function<void()> taken) = 0;
  // Waits until all output is written. False if that takes longer than flush_limit.
  virtual boost::asio::awaitable<bool> flushed() = 0;
  // Like flushed(), at the very end of the run. Output that is not written in time is lost.
  virtual boost::asio::awaitable<void> last_words() = 0;
  // Whether the root opens a socket on which this user's other processes can query the job.
  virtual bool can_be_asked() const { return true; }
  // Whether this node does something before its workers of each attempt start.
  bool prepares_workplace() const {
    return container || warm || staging || !job.options.node_check.empty();
  }
  // Handles this process's pending signals at once, before the event loop would handle them.
  virtual void take_signals() {}

  boost::asio::io_context& io;
  Pool pool;  // for blocking work
  const std::shared_ptr<const plan::Job>
      shared_job;  // shared with work on the pool, because such work may outlive the process's
                   // other objects
  const plan::Job& job;
  const std::string agent_id;
  const WallTime began = std::chrono::system_clock::now();
  // This process's stdout and stderr for the ranks' output. `terminal` is the same object as
  // `console`, or null if the output does not go to a terminal.
  std::shared_ptr<output::Console> console;
  std::shared_ptr<output::Terminal> terminal;
  std::shared_ptr<const RankSight> sight = std::make_shared<RankSight>();
  // The address at which the root reaches this host. In the root's process, this is the address at
  // which members reach the root.
  std::optional<hosts::Address> route;
  // True: this agent is the root although the user's endpoint is not an address of this host.
  bool leaves_endpoint = false;
  // This node's network as read from its /sys. Null: the job has one node, or --fabric is off.
  std::shared_ptr<const fabric::NodeFabric> network;
  // This node's container, if the node's ranks run in a container.
  std::unique_ptr<NodeContainer> container;
  // With --stage: this node's copy of the Python environment.
  std::unique_ptr<prepare::Staging> staging;
  // With --warm: the Python process from which this node's ranks are forked.
  std::unique_ptr<prepare::WarmStart> warm;
  // With --prefetch: reads in advance the files that this node's ranks import.
  std::unique_ptr<prepare::Prefetch> prefetch;
  // Why this node cannot take part in the run; nullopt if it can.
  std::optional<Error> unfit;
  // The handler for termination signals that this process receives or that the launcher forwards.
  // The handler is called once per request to end the run (EndSignals). `for_all`: the launcher
  // sent the signal only to this agent, but the signal is for the whole run.
  std::function<void(int signal, bool for_all)> on_signal;
  // The run's exit code, set when the run is over and reported. Once `ended_with` is set, a
  // termination signal ends this process if on_signal is not set.
  std::optional<int> ended_with;
  // The handler for the loss of the keeper or the launcher. The keeper is the process that
  // supervises this agent; the launcher started this agent by a login. The handler receives the
  // reason and the workers' grace period. Without a handler, the agent ends at once.
  std::function<void(std::string, std::chrono::milliseconds)> on_orphaned;
  // The handler that stops the workers at SIGTSTP (true) and continues them at SIGCONT. `paused` is
  // the last state. The agent itself keeps running, because without its heartbeats, its node would
  // be treated as lost.
  std::function<void(bool)> on_pause;
  bool paused = false;
  // The handler of SIGWINCH: the size of the terminal has changed.
  std::function<void()> on_resize;
};

}  // namespace toprun::agent
