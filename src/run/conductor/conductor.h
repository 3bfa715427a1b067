#pragma once

#include <signal.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "run/conductor/course.h"
#include "run/model/exit.h"

namespace toprun::run {

// When an elastic job admits a node that joins during the run (--grow): at the next restart that
// has another cause, at once, or at the user's request. To admit a node, all ranks restart.
enum class Grow { at_restart, now, on_signal };
constexpr std::string_view name_of(Grow grow) {  // as in --grow
  constexpr std::array<std::string_view, 3> names = {"at-restart", "now", "on-signal"};
  return names[static_cast<std::size_t>(grow)];
}

// The signal with which the user asks the job to admit waiting nodes. It may be sent to any agent
// of the job. A process without a handler ignores this signal, so the signal may be sent to a whole
// job step.
inline constexpr int grow_signal = SIGURG;

// Time limits for ending a run that fails or is stopped.
struct Grace {
  std::chrono::milliseconds stop{30'000};  // from SIGTERM to SIGKILL, as in torchrun
  // How long the root waits for the exit of a rank that others report as lost. After this time, the
  // root stops all nodes. The root waits only if all failures so far are such reports, because the
  // lost rank perhaps still runs.
  std::chrono::milliseconds own_exit{5'000};
  // How long the root waits for similar failures of the other ranks. After this time, the root
  // stops all nodes. It waits only after errors in the program's text, failed imports and
  // mismatched collectives.
  std::chrono::milliseconds same_text{1'000};
  // With --grow now: how long the root waits for further nodes before it restarts. So nodes that
  // join together cause only one restart.
  std::chrono::milliseconds newcomers{1'000};
};

// The result if a signal ends the run and all ranks exit with 0 within the grace period: done, or
// failed as in torchrun.
enum class EndedWell { done, failed };

// Decides from the agents' reports what the agents must do. Performs no I/O. The root has one such
// object in each attempt, from the start of the workers to the attempt's end.
//
//   running --a failure, a loss, a departure, newcomers, a signal--> stopping
//   stopping --every node gone--> over
//   running --only victims of a lost peer--> suspecting --their cause, or time-out--> stopping
//   running --only failures that all ranks share--> suspecting
//   suspecting --another failure, or time-out--> stopping
//   running, suspecting --every node gone--> over
class Conductor {
 public:
  struct Order {
    enum class Kind { stop, interrupt } kind;
    int signal = 0;                     // for interrupt: the signal to forward first
    std::chrono::milliseconds grace{};  // time until SIGKILL
  };

  // `ranks`: the number of ranks on each node.
  Conductor(std::vector<std::string> hosts, std::vector<int> ranks, Grace grace,
            EndedWell ended_well = EndedWell::done, Grow grow = Grow::at_restart)
      : hosts_(std::move(hosts)),
        running_(std::move(ranks)),
        grace_(grace),
        ended_well_(ended_well),
        grow_(grow) {
    gone_.resize(hosts_.size());
    signalled_.resize(hosts_.size());
    silent_.resize(hosts_.size());
  }

  // The following functions report events at node `node` (an index into `hosts`).
  void exited(std::size_t node, model::WorkerExit exit, SteadyTime now);
  void gone(std::size_t node);
  // Called if the node was lost: by a time-out if `silent`, else because its connection was closed.
  // If all of a node's ranks have ended, the node may leave without causing a failure.
  void lost(std::size_t node, bool silent, std::string reason, SteadyTime now);
  // Called if the root's own agent, which is in this process, must end. This holds even if its
  // ranks have already ended.
  void root_lost(std::size_t node, std::string reason, SteadyTime now);
  void failed(std::size_t node, Error error, SteadyTime now);
  // Called if the node's ranks run, but must not continue.
  void refused(std::size_t node, Error error, SteadyTime now);
  // Called if the ranks make no progress and must not continue. `node`: the node at fault; empty if
  // several nodes are at fault or the node is unknown. `for_good`: no further attempt follows.
  void hung(std::string message, std::string node, bool for_good, SteadyTime now);
  // The node's agent received a signal to end. An engine sends the same signal to every agent, so a
  // second signal counts only if it reaches the same agent. Each agent distinguishes a repeated
  // signal from another delivery of the same signal (base/process/impatience.h).
  void signalled(std::size_t node, int signal, SteadyTime now);
  // The node's agent received a signal to end, and the job can continue without the node.
  void leaving(std::size_t node, int signal, SteadyTime now);
  // Nodes wait to be admitted. `nodes`: how many waiting nodes the next attempt would admit. `all`:
  // true if the job would then have its maximum number of nodes.
  void newcomers(int nodes, bool all, SteadyTime now);
  // Called if the user asks to admit the waiting nodes. Returns false if the request has no effect:
  // no node waits, --grow does not allow such a request, or ranks have already ended and this
  // attempt is nearly over.
  bool asked_to_grow(SteadyTime now);
  void passed(SteadyTime now);  // time passed without an event

  std::optional<SteadyTime> wake_at() const;
  // When the conductor first ordered the ranks to end; unset if it has not done so.
  std::optional<SteadyTime> stopped_at() const { return stopped_at_; }
  // When the last rank's grace period ends.
  std::optional<SteadyTime> grace_ends() const { return grace_ends_; }
  // Returns the orders to all nodes that no earlier call has returned.
  std::vector<Order> take_orders();
  std::size_t ended_ranks() const { return exits_.size(); }
  // Whether the conductor has ordered the ranks to end.
  bool is_stopping() const { return trigger_ != Trigger::none; }
  // The signal that ends the job; unset if no signal ends the job.
  std::optional<int> ending_signal() const {
    return trigger_ == Trigger::signal ? std::optional(signal_) : std::nullopt;
  }
  bool over() const { return gone_count_ == hosts_.size(); }
  bool has_gone(std::size_t node) const { return gone_[node] != 0; }
  Verdict verdict() const&;
  Verdict verdict() &&;
  Verdict verdict_without_exits() const;

 private:
  enum class Trigger { none, exit, lost, failed, hung, left, grown, signal };
  bool grow(SteadyTime now);
  void leave(std::size_t node);
  void lose(std::size_t node, bool silent, std::string_view reason, SteadyTime now);
  // Returns the number of silent hosts if only the root's host still answers. Perhaps the root's
  // host itself has then lost its network. 0: another host still answers.
  std::size_t lost_others() const;
  void stop(Trigger trigger, SteadyTime now);
  void order(Order order, SteadyTime now);
  bool is_impatient(SteadyTime now) const;
  // Whether the worker exited only because the job's signal reached the worker too.
  bool is_caused_by_signal(const model::WorkerExit* cause) const;

  std::vector<std::string> hosts_;
  std::vector<int> running_;  // by node: how many of its ranks still run, or were stopped by toprun
  Grace grace_;
  EndedWell ended_well_;
  std::vector<char> gone_;
  std::size_t gone_count_ = 0;
  std::vector<model::WorkerExit> exits_;
  std::optional<int> found_;  // exit code of a rank that runs toprun itself (model::is_finding())
  std::optional<SteadyTime> suspicion_ends_;
  Grow grow_;
  int newcomers_ = 0;
  std::optional<SteadyTime> growth_due_;
  Trigger trigger_ = Trigger::none;
  std::optional<SteadyTime> stopped_at_;
  std::optional<SteadyTime> grace_ends_;
  std::optional<Verdict> loss_;
  std::vector<char> silent_;  // by node: it was lost by a time-out
  std::optional<Verdict> failure_;
  std::optional<Verdict> hang_;
  std::optional<Verdict> departure_;
  int signal_ = 0;
  bool root_is_lost_ = false;
  bool hang_is_the_end_ = false;
  std::vector<char> signalled_;  // by node
  std::vector<Order> orders_;
};

}  // namespace toprun::run
