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
#include "node/agent/rank_sight.h"
#include "node/link/secret.h"
#include "node/output/console.h"
#include "node/plan/job.h"
#include "node/prepare/prefetch.h"
#include "node/prepare/staging.h"
#include "node/prepare/warm_start.h"
#include "node/store/server.h"
#include "node/worker/children.h"
#include "run/model/link.h"
#include "run/model/messages.h"

namespace toprun::agent {

// The time from SIGTERM to SIGKILL for workers that lost the launcher of logins, or the root.
inline constexpr std::chrono::milliseconds fence_grace{1'000};

// What the drivers of a run, Root and Member, get from their process: in a program a Session, in a
// simulation what it plays (room rehearsal).
class Services {
 public:
  // All references must outlive this. `agent`: this agent's id.
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

  // The root decides who joins; it gets a link with each who may.
  struct Admission {
    std::function<std::optional<model::Refused>(const model::Join&)> admit;
    // `theirs`: the agent's address as this host sees it. `ours`: at which it reached this host.
    std::function<void(const model::Join&, std::shared_ptr<model::Link>, std::string theirs,
                       std::string ours)>
        joined;
  };
  virtual void become_root(link::Secret secret, Admission admission) = 0;

  // What happens in the store here during one attempt; called on the event loop's thread.
  struct StoreNews {
    std::function<void()> renewed;
    std::function<void()> arrived;             // the last of its ranks, or the last one has met
    std::function<void(hang::Alarm)> alarmed;  // a rank has given up waiting for others
  };
  // Starts (or stops) serving the workers' store here, without keys, to so many ranks. Does not
  // wait.
  virtual void renew_store(bool here, int ranks, StoreNews news) = 0;
  virtual store::Server::Came came() const = 0;
  virtual std::vector<store::Arrival> arrivals() const = 0;
  virtual store::Server::Activity activity() const = 0;
  // The address at which this host reaches the store of another agent.
  virtual boost::asio::awaitable<Result<hosts::Address>> find_store(model::StoreAddress store) = 0;

  // The processes of one attempt's workers.
  virtual std::shared_ptr<worker::Children> children() = 0;
  // Shows lines of another node's workers. `taken` is called, now or later, when there is room for
  // more from that node.
  virtual void show(const std::string& host, bool is_err, std::string lines,
                    std::function<void()> taken) = 0;
  // Waits until all output is written; false if that takes longer than flush_limit.
  virtual boost::asio::awaitable<bool> flushed() = 0;
  // The same at the very end: output that is not written by then is lost.
  virtual boost::asio::awaitable<void> last_words() = 0;
  // Whether the root opens a socket at which this user's other processes can ask the job.
  virtual bool can_be_asked() const { return true; }
  // Acts on this process's signals at once, and not only when the event loop comes to it.
  virtual void take_signals() {}

  boost::asio::io_context& io;
  Pool pool;  // for blocking work
  const std::shared_ptr<const plan::Job>
      shared_job;  // shared with the pool's work, which may outlive the process's other objects
  const plan::Job& job;
  const std::string agent_id;
  const WallTime began = std::chrono::system_clock::now();
  // This process's own stdout and stderr for the ranks' output, and the same as a terminal; null:
  // it is none.
  std::shared_ptr<output::Console> console;
  std::shared_ptr<output::Terminal> terminal;
  std::shared_ptr<const RankSight> sight = std::make_shared<RankSight>();
  // The address at which the root reaches this host; in the root's process, at which members do.
  std::optional<hosts::Address> route;
  // This is the root, and the user's endpoint is not an address of this host.
  bool leaves_endpoint = false;
  // This node's network as its files describe it. Null: the job has one node, or --fabric is off.
  std::shared_ptr<const fabric::NodeFabric> network;
  // This node's container, if its ranks run in one.
  std::unique_ptr<NodeContainer> container;
  // This node's copy of the environment, with --stage.
  std::unique_ptr<prepare::Staging> staging;
  // The warm parent of this node's ranks, with --warm.
  std::unique_ptr<prepare::WarmStart> warm;
  // The reading of what this node's ranks import, with --prefetch.
  std::unique_ptr<prepare::Prefetch> prefetch;
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
  // The handler of SIGWINCH: the terminal has another size.
  std::function<void()> on_resize;
};

}  // namespace toprun::agent
