#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/link.h"
#include "rendezvous/run_messages.h"

namespace toprun::run {

// Where one agent's part in a run stands.
enum class PartState {
  waiting,        // for its part, the next attempt or the end
  spare,          // all places are taken
  finding_store,  // assigned
  preparing,      // … and its container comes up
  ready,          // … and it waits for the word to start
  starting,       // the workers are being started
  running,        // … run, or are being stopped
};

// What happens to it.

struct Told {
  rendezvous::ToNode message;
};
// The answer to FindStore: MASTER_ADDR.
struct StoreFound {
  int attempt = 0;
  Result<std::string> address;
};
struct ContainerUp {
  int attempt = 0;
  Result<void> outcome;
};
// The answer to StartWorkers.
struct WorkersStarted {
  Result<rendezvous::Started> outcome;
};
struct WorkerEnded {
  agent::WorkerExit exit;
};
struct WorkersGone {
  rendezvous::Gone gone;
};
struct RootLost {
  rendezvous::Loss loss;
};
// What a signal to this agent asks for.
enum class SignalMeaning { end, notice, grow };
struct GotSignal {
  int signal = 0;
  SignalMeaning meaning = SignalMeaning::end;
  bool for_all = false;  // the other agents have not heard of it
};
// Nobody would clear up after this agent: it may not go on.
struct KeeperLost {
  std::string why;
  std::chrono::milliseconds grace{0};  // of its workers
};

using PartEvent = std::variant<Told, StoreFound, ContainerUp, WorkersStarted, WorkerEnded,
                               WorkersGone, RootLost, GotSignal, KeeperLost>;

// What its driver has to do.

struct Report {
  rendezvous::ToRoot message;
};
struct FindStore {
  rendezvous::Assignment assignment;
};
struct AwaitContainer {
  int attempt = 0;
};
struct StartWorkers {
  rendezvous::Assignment assignment;
  std::string master_addr;
};
// End them, with so much time from SIGTERM to SIGKILL.
struct StopWorkers {
  std::chrono::milliseconds grace{0};
};
// Pass a signal on; they are to end by it, and go on if they were paused.
struct InterruptWorkers {
  int signal = 0;
};
// Pass a signal on to those that handle it.
struct NotifyWorkers {
  int signal = 0;
};
struct CreditOutput {
  std::size_t bytes = 0;
};
// Nobody takes output any more.
struct CloseOutput {};
struct TellUser {
  std::string text;
};
// The run's last line, as the root has it, …
struct ShowSummary {
  std::string summary;
};
// … or as this node alone knows it.
struct TellEndWithoutRoot {};
// The root may have started this node's ranks elsewhere by now.
struct TellKeeperOfSilence {};

using PartAction = std::variant<Report, FindStore, AwaitContainer, StartWorkers, StopWorkers,
                                InterruptWorkers, NotifyWorkers, CreditOutput, CloseOutput,
                                TellUser, ShowSummary, TellEndWithoutRoot, TellKeeperOfSilence>;

struct PartSettings {
  std::string host;
  std::string root;      // where the root is, for the user
  bool is_own = false;   // the agent in the root's own process
  bool elastic = false;  // the job goes on without a node that leaves
  bool has_container = false;
  bool has_own_terminal = false;  // its user does not see the root's
  bool root_speaks = false;       // the engine takes the root's exit code for the job's
  std::optional<Error> unfit;     // why this node cannot take part
  std::chrono::milliseconds stop_grace{30'000};
  std::chrono::milliseconds fence_grace{1'000};  // of workers that are cut off from the root
};

// One agent's part in a run, whether the root is in this process or elsewhere; pure: it gets events
// and the time, and gives actions that a driver carries out.
//
//   waiting --assign--> finding_store --found--> preparing, ready
//   preparing --container up--> ready --start--> starting --started--> running --all gone-->
//   waiting waiting --spare--> spare --assign--> finding_store;  any --finish, root lost,
//   orphaned--> over once no worker lives
class NodePart {
 public:
  explicit NodePart(PartSettings settings);

  void on(const PartEvent& event, SteadyTime now);
  // Nothing happened until now.
  void pass(SteadyTime now);
  std::vector<PartAction> take() { return std::exchange(actions_, {}); }
  std::optional<SteadyTime> wake_at() const { return kill_at_; }

  PartState state() const { return state_; }
  // Of the latest attempt.
  const rendezvous::Assignment& assignment() const { return assignment_; }
  bool over() const { return exit_code_ && !is_alive(); }
  int exit_code() const { return exit_code_.value_or(0); }

 private:
  void happened(const Told& told);
  void happened(const StoreFound& found);
  void happened(const ContainerUp& container);
  void happened(const WorkersStarted& started);
  void happened(const WorkerEnded& ended);
  void happened(const WorkersGone& gone);
  void happened(const RootLost& lost);
  void happened(const GotSignal& got);
  void happened(const KeeperLost& lost);

  void told(const rendezvous::WaitAsSpare&);
  void told(const rendezvous::Assignment& assignment);
  void told(const rendezvous::Start&);
  void told(const rendezvous::Taken& taken);
  void told(const rendezvous::Stop& stop);
  void told(const rendezvous::Interrupt& interrupt);
  void told(const rendezvous::Notice& notice);
  void told(const rendezvous::Finish& finish);

  bool is_alive() const { return state_ == PartState::starting || state_ == PartState::running; }
  void ready();
  void stop(std::chrono::milliseconds grace);
  void report(decltype(rendezvous::ToRoot::what) what);
  void fail(rendezvous::Failing doing, const Error& error);
  void tell_user(std::string text) { actions_.emplace_back(TellUser{std::move(text)}); }

  const PartSettings settings_;
  PartState state_ = PartState::waiting;
  SteadyTime now_{};
  std::optional<int> attempt_;  // the latest that was assigned
  rendezvous::Assignment assignment_;
  std::string master_addr_;
  // They were to end while they were being started.
  std::optional<std::chrono::milliseconds> stop_when_started_;
  std::optional<SteadyTime> kill_at_;
  std::optional<std::string> orphaned_;
  std::optional<int> exit_code_;
  std::vector<PartAction> actions_;
};

}  // namespace toprun::run
