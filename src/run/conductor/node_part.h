#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/process/impatience.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "base/text/shared.h"
#include "decide/hang/stillness.h"
#include "run/model/messages.h"
#include "run/model/run_messages.h"

namespace toprun::run {

// The states of one agent in a run, as class NodePart sees them.
enum class PartState {
  waiting,        // waits for an assignment, the next attempt or the end
  spare,          // waits as a spare, until the root assigns ranks to it
  finding_store,  // assigned: finding the store
  preparing,      // assigned: copying its environment, or starting its container or warm parent
  ready,          // assigned: waiting for Start
  starting,       // the workers are being started
  running,        // the workers run, or are being stopped
};

// Events at the agent.

struct MessageReceived {
  model::ToNode message;
};
// The answer to FindStore: the value of MASTER_ADDR.
struct StoreFound {
  int attempt = 0;
  Result<std::string> address;
};
// The node has copied the Python environment, or continues without a copy (--stage).
struct CopySettled {
  int attempt = 0;
  model::Staged staged;
};
struct WorkplaceReady {
  int attempt = 0;
  Result<void> outcome;
  model::Failing doing = model::Failing::preparing;  // what failed, if `outcome` is an error
};
// The answer to StartWorkers.
struct WorkersStarted {
  Result<model::Started> outcome;
};
struct WorkerEnded {
  Shared<model::WorkerExit> exit;
};
// The running workers must not continue, because they do not use the required network.
struct NetworkRefused {
  int attempt = 0;
  Error error;
};
// Ranks of the attempt have reached this node's store.
struct RanksArrived {
  int attempt = 0;
  model::Arrivals arrivals;
};
// A rank of the attempt reports in this node's store that it has stopped waiting for others.
struct RankAlarmed {
  int attempt = 0;
  hang::Alarm alarm;
};
// The ranks of the attempt have stopped or resumed making progress.
struct StillnessChanged {
  int attempt = 0;
  std::optional<hang::Still> still;  // unset: the ranks make progress
};
// The answer to LookAtWorkers.
struct LookedAtWorkers {
  int attempt = 0;
  model::RanksSeen seen;
};
// What the workers' flight recorders, or NCCL, have reported.
struct WorkersReported {
  int attempt = 0;
  model::RanksReported reported;
};
struct WorkersGone {
  model::Gone gone;
};
struct RootLost {
  model::Loss loss;
};
// What this agent does when it receives a signal. It ends, forwards the signal to its workers, or
// asks the root to admit nodes.
enum class SignalMeaning { end, notice, grow };
struct GotSignal {
  int signal = 0;
  SignalMeaning meaning = SignalMeaning::end;
  bool for_all = false;                 // the other agents have not received the signal, so it is
                                        // passed on to them
  std::optional<SteadyTime> came = {};  // when the signal arrived, if this is known more precisely
                                        // than by the event's time
};
// This agent's keeper has ended. Without the keeper, no process would clean up after the agent, so
// the agent must not continue.
struct KeeperLost {
  std::string why;
  std::chrono::milliseconds grace{0};  // time for the agent's workers to end
};

using PartEvent =
    std::variant<MessageReceived, StoreFound, CopySettled, WorkplaceReady, WorkersStarted,
                 WorkerEnded, NetworkRefused, RanksArrived, RankAlarmed, StillnessChanged,
                 LookedAtWorkers, WorkersReported, WorkersGone, RootLost, GotSignal, KeeperLost>;

// Actions for the agent's driver.

struct Report {
  model::ToRoot message;
};
struct FindStore {
  Shared<model::Assignment> assignment;
};
struct AwaitWorkplace {
  int attempt = 0;
};
struct StartWorkers {
  Shared<model::Assignment> assignment;
  std::string master_addr;
};
// Find out where the workers are in their code.
struct LookAtWorkers {
  int attempt = 0;
  int look = 0;
  bool is_hang = false;  // also ask their flight recorders
};
// Report the workers' resource use.
struct MeasureWorkers {
  int attempt = 0;
};
// End the workers, with this time between SIGTERM and SIGKILL.
struct StopWorkers {
  std::chrono::milliseconds grace{0};
};
// Forward a signal that ends the workers, and resume paused workers.
struct InterruptWorkers {
  int signal = 0;
};
// Forward a signal to the workers that handle it.
struct NotifyWorkers {
  int signal = 0;
};
struct CreditOutput {
  std::size_t bytes = 0;
};
// Drop further output of the workers, which no longer has a receiver.
struct CloseOutput {};
struct TellUser {
  std::string text;
};
// Show the last line of the run, which the root has sent.
struct ShowSummary {
  std::string summary;
};
// Print the run's last line, which this node produces itself because it has lost the root.
struct TellEndWithoutRoot {};
// Tell the keeper that this agent has lost the root. The root has perhaps restarted this node's
// ranks on other nodes.
struct TellKeeperOfSilence {};

using PartAction =
    std::variant<Report, FindStore, AwaitWorkplace, StartWorkers, LookAtWorkers, MeasureWorkers,
                 StopWorkers, InterruptWorkers, NotifyWorkers, CreditOutput, CloseOutput, TellUser,
                 ShowSummary, TellEndWithoutRoot, TellKeeperOfSilence>;

struct PartSettings {
  std::string host;
  std::string root;      // the root's location, for messages
  bool is_own = false;   // the agent in the root's own process
  bool elastic = false;  // the job continues without a node that leaves
  // True: the engine (such as Slurm) sends SIGTERM to an agent to start it again elsewhere, and the
  // job waits for the new agent.
  bool is_replaced = false;
  bool prepares_workplace = false;
  bool has_own_terminal = false;  // the agent's user does not see the root's terminal
  bool root_speaks = false;       // the engine uses the root's exit code as the job's
  // True: the engine restarts an agent that exits with 128 or more, so that the run's own exit code
  // must be below 128.
  bool lost_return = false;
  std::optional<Error> unfit;  // why this node cannot take part
  std::chrono::milliseconds stop_grace{30'000};
  std::chrono::milliseconds fence_grace{1'000};  // grace period for the workers of a node that has
                                                 // lost contact with the root
};

// Decides what one agent does in a run, with the root in this process or elsewhere. Performs no
// I/O: it receives events and the time, and returns actions for a driver.
//
//   waiting --assign--> finding_store --found--> preparing, ready
//   preparing --workplace ready--> ready --start--> starting --started--> running
//   (ready is left out if the assignment says to start)
//   running --all gone--> waiting
//   waiting --spare--> spare --assign--> finding_store
//   any --finish, root lost, orphaned--> over once no worker lives
class NodePart {
 public:
  explicit NodePart(PartSettings settings);

  void on(PartEvent event, SteadyTime now);
  // Advances the time without an event.
  void pass(SteadyTime now);
  std::vector<PartAction> take() { return std::exchange(actions_, {}); }
  std::optional<SteadyTime> wake_at() const { return kill_at_; }

  PartState state() const { return state_; }
  // The assignment of the latest attempt.
  const model::Assignment& assignment() const { return assignment_; }
  bool over() const { return exit_code_ && !is_alive(); }
  int exit_code() const { return exit_code_.value_or(0); }

 private:
  void happened(const MessageReceived& reported);
  void happened(const StoreFound& found);
  void happened(const CopySettled& settled);
  void happened(const WorkplaceReady& workplace);
  void happened(WorkersStarted& started);
  void happened(const WorkerEnded& ended);
  void happened(const NetworkRefused& refused);
  void happened(RanksArrived& arrived);
  void happened(const RankAlarmed& alarmed);
  void happened(const StillnessChanged& changed);
  void happened(LookedAtWorkers& looked);
  void happened(WorkersReported& recorders);
  void happened(WorkersGone& gone);
  void happened(const RootLost& lost);
  void happened(const GotSignal& got);
  void happened(const KeeperLost& lost);

  void on_message(const model::WaitAsSpare& message);
  void on_message(const Shared<model::Assignment>& assignment);
  void on_message(const model::Start&);
  void on_message(const model::LookAtRanks& look);
  void on_message(const model::MeasureRanks&);
  void on_message(const model::Taken& taken);
  void on_message(const model::Stop& stop);
  void on_message(const model::Interrupt& interrupt);
  void on_message(const model::Notice& notice);
  void on_message(const model::Finish& finish);

  void ordered_to_end(const GotSignal& got);
  bool may_leave(const GotSignal& got) const;
  void tell_of_leaving(int signal);
  bool is_alive() const { return state_ == PartState::starting || state_ == PartState::running; }
  void ready();
  void start_workers();
  void stop(std::chrono::milliseconds grace);
  void report(decltype(model::ToRoot::what) what);
  void fail(model::Failing doing, const Error& error);
  std::string own_failure() const;
  void tell_user(std::string text) { actions_.emplace_back(TellUser{std::move(text)}); }

  const PartSettings settings_;
  PartState state_ = PartState::waiting;
  SteadyTime now_{};
  std::optional<int> attempt_;  // the latest assigned attempt
  Shared<model::Assignment> assignment_;
  std::string master_addr_;
  std::vector<model::WorkerExit> exits_;  // the exits of this attempt's ranks on this node
  // Set if the workers must be stopped as soon as they have started. The value is the time between
  // SIGTERM and SIGKILL.
  std::optional<std::chrono::milliseconds> stop_when_started_;
  std::optional<SteadyTime> kill_at_;
  std::optional<std::string> orphaned_;
  process::Impatience impatience_;  // counts all signals to end, from any source
  enum class Wish {
    none,
    leave,
    end_all
  } wish_ = Wish::none;  // what this node has asked of the
                         // root
  std::optional<int> exit_code_;
  std::vector<PartAction> actions_;
};

}  // namespace toprun::run
