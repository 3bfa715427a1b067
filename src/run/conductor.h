#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/exit.h"
#include "base/clock.h"
#include "base/error.h"
#include "run/grow.h"
#include "run/verdict.h"

namespace toprun::run {

// How long a run that fails or is ended may take.
struct Grace {
  std::chrono::milliseconds stop{30'000};  // from SIGTERM to SIGKILL, as torchrun's
  // If all that failed so far only tells of a lost peer, the peer that was lost may still be busy
  // dying: how long its own exit is waited for before everybody is stopped.
  std::chrono::milliseconds own_exit{5'000};
  // With --grow now: nodes that come within this time of each other cost one restart.
  std::chrono::milliseconds newcomers{1'000};
};

// What a run comes to that a signal has ended, where all ranks ended with 0 in their grace: it is
// done, or as torchrun has it, it failed.
enum class EndedWell { done, failed };

// Decides, from what the agents report, what they are to do; pure. Lives at the root from the
// workers' start to the end of an attempt.
//
//   running --a failure, a loss, a departure, newcomers, a signal--> stopping
//   stopping --every node gone--> over
//   running --only victims of a lost peer--> suspecting --their cause, or time--> stopping
//   running, suspecting --every node gone--> over
class Conductor {
 public:
  struct Order {
    enum class Kind { stop, interrupt } kind;
    int signal = 0;                     // interrupt: pass this on first
    std::chrono::milliseconds grace{};  // until SIGKILL
    std::string reason;                 // for the other nodes' users, one line
  };

  // `ranks`: how many each node has.
  Conductor(std::vector<std::string> hosts, std::vector<int> ranks, Grace grace,
            EndedWell ended_well = EndedWell::done, Grow grow = Grow::at_restart)
      : hosts_(std::move(hosts)),
        running_(std::move(ranks)),
        grace_(grace),
        ended_well_(ended_well),
        grow_(grow) {
    gone_.resize(hosts_.size());
    signalled_.resize(hosts_.size());
  }

  // What happened at node `node` (an index into `hosts`).
  void exited(std::size_t node, agent::WorkerExit exit, SteadyTime now);
  void gone(std::size_t node);
  // `silent`: no word came for too long (node lost), rather than the connection ending. A node
  // whose ranks have all ended may go.
  void lost(std::size_t node, bool silent, std::string reason);
  // The root's own agent, which is this very process, has to end, whatever became of its ranks.
  void root_lost(std::size_t node, std::string reason);
  void failed(std::size_t node, Error error);
  // An engine sends the same signal to every agent: only an agent's second one is a new one.
  void signalled(std::size_t node, int signal);
  // The node's agent was told to end where the job can go on without it.
  void leaving(std::size_t node, int signal);
  // So many nodes wait now that another attempt would take in; `all`: there is no room for more.
  void newcomers(int nodes, bool all, SteadyTime now);
  // The user wants them to be taken in. False: it is not done, for nobody waits, --grow does not
  // provide for it, or ranks have ended already and this attempt is as good as over.
  bool asked_to_grow();
  void passed(SteadyTime now);  // nothing happened until now

  std::optional<SteadyTime> wake_at() const;
  // What all nodes are to do now; each order is given once.
  std::vector<Order> take_orders();
  std::size_t ended_ranks() const { return exits_.size(); }
  bool over() const { return gone_count_ == hosts_.size(); }
  bool has_gone(std::size_t node) const { return gone_[node] != 0; }
  Verdict verdict() const&;
  Verdict verdict() &&;

 private:
  enum class Trigger { none, exit, lost, failed, left, grown, signal };
  bool grow();
  void leave(std::size_t node);
  void lose(std::size_t node, bool silent, std::string_view reason);
  void stop(Trigger trigger, std::string reason, std::chrono::milliseconds grace);
  Verdict verdict_without_exits() const;
  // Whether the exit only shows that its worker got the job's signal too.
  bool is_of_the_signal(const agent::WorkerExit* cause) const;

  std::vector<std::string> hosts_;
  std::vector<int> running_;  // ranks by node that have not ended by themselves
  Grace grace_;
  EndedWell ended_well_;
  std::vector<char> gone_;
  std::size_t gone_count_ = 0;
  std::vector<agent::WorkerExit> exits_;
  std::optional<SteadyTime> suspicion_ends_;
  Grow grow_;
  int newcomers_ = 0;
  std::optional<SteadyTime> growth_due_;
  Trigger trigger_ = Trigger::none;
  std::optional<Verdict> loss_;
  std::optional<Verdict> failure_;
  std::optional<Verdict> departure_;
  int signal_ = 0;
  bool root_is_lost_ = false;
  std::vector<char> signalled_;  // by node
  std::vector<Order> orders_;
};

}  // namespace toprun::run
