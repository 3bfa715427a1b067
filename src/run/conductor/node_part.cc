#include "run/conductor/node_part.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "base/os/signals.h"
#include "run/model/cause.h"

namespace toprun::run {

using model::Failing;
using model::Loss;
using std::chrono::milliseconds;

NodePart::NodePart(PartSettings settings) : settings_(std::move(settings)) {
  if (settings_.unfit) fail(Failing::taking_part, *settings_.unfit);
}

void NodePart::on(PartEvent event, SteadyTime now) {
  now_ = now;
  std::visit([this](auto& what) { happened(what); }, event);
}

void NodePart::pass(SteadyTime now) {
  now_ = now;
  if (!kill_at_ || now < *kill_at_) return;
  kill_at_.reset();
  actions_.emplace_back(StopWorkers{milliseconds(0)});
}

void NodePart::happened(const MessageReceived& message) {
  std::visit([this](const auto& what) { on_message(what); }, message.message);
}

namespace {

std::string_view words_of(model::Until until) {
  switch (until) {
    case model::Until::a_place_is_free:
      break;
    case model::Until::the_next_restart:
      return "takes this node in at its next restart (--grow at-restart)";
    case model::Until::all_have_stopped:
      return "takes this node in at once (--grow now)";
    case model::Until::somebody_asks:
      return "takes this node in when you ask for it (`toprun grow`)";
  }
  return "has all the nodes that it can use now";
}

}  // namespace

void NodePart::on_message(const model::WaitAsSpare& message) {
  if (is_alive()) return;
  state_ = PartState::spare;
  // The root says that it waits, and the terminal is the root's.
  const bool is_reported =
      !settings_.has_own_terminal && message.until == model::Until::a_place_is_free;
  if (!settings_.unfit && is_reported) return;
  if (!settings_.unfit) {
    return tell_user(fmt::format("{}: waiting as a spare: the job at {} {}", settings_.host,
                                 settings_.root, words_of(message.until)));
  }
  tell_user(settings_.unfit->line());
  exit_code_ = (*settings_.unfit)->exit_code;
}

void NodePart::on_message(const Shared<model::Assignment>& assignment) {
  if (is_alive()) return;
  assignment_ = assignment;
  attempt_ = assignment->attempt;
  exits_.clear();
  state_ = PartState::finding_store;
  actions_.emplace_back(FindStore{assignment_});
}

void NodePart::happened(const StoreFound& found) {
  if (state_ != PartState::finding_store || found.attempt != attempt_) return;
  if (!found.address) {
    state_ = PartState::waiting;
    return fail(Failing::finding_store, found.address.error());
  }
  master_addr_ = *found.address;
  if (!settings_.prepares_workplace) return ready();
  state_ = PartState::preparing;
  actions_.emplace_back(AwaitWorkplace{*attempt_});
}

void NodePart::happened(const CopySettled& settled) {
  if (state_ == PartState::preparing && settled.attempt == attempt_) report(settled.staged);
}

void NodePart::happened(const WorkplaceReady& workplace) {
  if (state_ != PartState::preparing || workplace.attempt != attempt_) return;
  if (workplace.outcome) return ready();
  state_ = PartState::waiting;
  fail(workplace.doing, workplace.outcome.error());
}

void NodePart::ready() {
  if (assignment_->start && !settings_.unfit) return start_workers();
  state_ = PartState::ready;
  report(model::Ready{});
}

void NodePart::on_message(const model::Start&) {
  if (state_ == PartState::ready) start_workers();
}

void NodePart::start_workers() {
  state_ = PartState::starting;
  stop_when_started_.reset();
  actions_.emplace_back(StartWorkers{assignment_, master_addr_});
}

void NodePart::happened(WorkersStarted& started) {
  if (state_ != PartState::starting) return;
  if (!started.outcome) {
    state_ = PartState::waiting;
    fail(Failing::preparing, started.outcome.error());
    if (stop_when_started_) stop(*stop_when_started_);
    return;
  }
  state_ = PartState::running;
  report(*std::move(started.outcome));
  if (stop_when_started_) stop(*stop_when_started_);
}

void NodePart::happened(const WorkerEnded& ended) {
  exits_.push_back(ended.exit);
  report(ended.exit);
}

void NodePart::happened(const NetworkRefused& refused) {
  if (state_ != PartState::running || refused.attempt != attempt_) return;
  fail(Failing::running, refused.error);
}

void NodePart::happened(RanksArrived& arrived) {
  if (is_alive() && arrived.attempt == attempt_) report(std::move(arrived.arrivals));
}

void NodePart::happened(const RankAlarmed& alarmed) {
  if (is_alive() && alarmed.attempt == attempt_) report(alarmed.alarm);
}

void NodePart::happened(const StillnessChanged& changed) {
  if (state_ != PartState::running || changed.attempt != attempt_) return;
  if (!changed.still) return report(model::RanksMove{});
  const auto age = std::chrono::duration_cast<milliseconds>(now_ - changed.still->since);
  report(model::RanksStill{std::max(milliseconds(0), age), changed.still->some_communicate});
}

void NodePart::on_message(const model::LookAtRanks& look) {
  if (state_ == PartState::running) {
    actions_.emplace_back(LookAtWorkers{*attempt_, look.look, look.is_hang});
  } else if (attempt_) {
    report(model::RanksSeen{look.look, {}});
  }
}

void NodePart::on_message(const model::MeasureRanks&) {
  if (state_ == PartState::running) actions_.emplace_back(MeasureWorkers{*attempt_});
}

void NodePart::happened(LookedAtWorkers& looked) {
  if (looked.attempt == attempt_) report(std::move(looked.seen));
}

void NodePart::happened(WorkersReported& recorders) {
  if (recorders.attempt == attempt_) report(std::move(recorders.reported));
}

void NodePart::happened(WorkersGone& gone) {
  state_ = PartState::waiting;
  kill_at_.reset();
  if (orphaned_) return report(model::Orphaned{*orphaned_});
  report(std::move(gone.gone));
}

void NodePart::on_message(const model::Taken& taken) {
  actions_.emplace_back(CreditOutput{taken.bytes});
}

void NodePart::on_message(const model::Stop& message) {
  stop(message.grace);
}

void NodePart::stop(milliseconds grace) {
  if (state_ == PartState::starting) {
    stop_when_started_ = grace;
  } else if (state_ == PartState::running) {
    kill_at_.reset();
    actions_.emplace_back(StopWorkers{grace});
  } else if (!exit_code_) {
    // Stopped before it was started: no workers to wait for.
    if (state_ != PartState::spare) state_ = PartState::waiting;
    report(model::Gone{});
  }
}

void NodePart::on_message(const model::Interrupt& message) {
  if (state_ != PartState::running) return stop(message.grace);
  actions_.emplace_back(InterruptWorkers{message.signal});
  kill_at_ = now_ + message.grace;
}

void NodePart::on_message(const model::Notice& notice) {
  if (state_ == PartState::running) actions_.emplace_back(NotifyWorkers{notice.signal});
}

void NodePart::on_message(const model::Finish& finish) {
  if (settings_.has_own_terminal && !finish.summary.empty()) {
    actions_.emplace_back(ShowSummary{finish.summary});
    if (state_ == PartState::spare) {
      tell_user(fmt::format("{} waited as a spare until the job ended, and was not needed",
                            settings_.host));
    }
  }
  if (settings_.has_own_terminal && !finish.why.empty()) tell_user(finish.why);
  const bool run_is_over = !finish.summary.empty();
  const bool seems_lost = run_is_over && settings_.lost_return && finish.exit_code > 128;
  exit_code_ = settings_.root_speaks ? 0 : seems_lost ? exit_failure : finish.exit_code;
  if (is_alive()) stop(settings_.stop_grace);
}

void NodePart::happened(const GotSignal& got) {
  if (got.meaning == SignalMeaning::grow) return report(model::AskedToGrow{});
  if (got.meaning == SignalMeaning::notice) {
    if (got.for_all) return report(model::Notice{got.signal});
    return on_message(model::Notice{got.signal});
  }
  ordered_to_end(got);
}

// Only a repeat shortens a grace: where the root has no say in it any more, or this node leaves
// alone, its own ranks' and no others'.
void NodePart::ordered_to_end(const GotSignal& got) {
  using Signal = process::Impatience::Signal;
  const Signal signal = impatience_.arrived(got.came.value_or(now_));
  if (signal == Signal::delivery) return;
  if (wish_ == Wish::leave || exit_code_) {
    if (signal == Signal::repeat && is_alive()) stop(milliseconds(0));
  } else if (state_ == PartState::spare) {
    exit_code_ = 128 + got.signal;
    tell_of_leaving(got.signal);
  } else if (may_leave(got)) {
    wish_ = Wish::leave;
    tell_of_leaving(got.signal);
    report(model::Leaving{got.signal});
  } else {
    wish_ = Wish::end_all;
    report(model::Signalled{got.signal});
  }
}

// An engine's signal to all nodes of a job reaches each of them as if it was to leave alone.
void NodePart::tell_of_leaving(int signal) {
  if (!settings_.has_own_terminal) return;
  tell_user(fmt::format("{}: this node leaves the job because of {}", settings_.host,
                        signal_name(signal)));
}

// Whether the job goes on without this node. A user who has ended the whole job ends it again.
bool NodePart::may_leave(const GotSignal& got) const {
  return !settings_.is_own && !got.for_all && wish_ == Wish::none &&
         (settings_.elastic || (settings_.is_replaced && got.signal == SIGTERM));
}

// An agent that has lost its keeper, or its launcher over ssh, must not continue: no process would
// clean up after it.
void NodePart::happened(const KeeperLost& lost) {
  if (orphaned_) return;
  orphaned_ = lost.why;
  exit_code_ = exit_failure;
  tell_user(fmt::format("{}: {}, so its ranks are killed too", settings_.host, lost.why));
  if (is_alive()) return stop(lost.grace);
  report(model::Orphaned{lost.why});
}

void NodePart::happened(const RootLost& lost) {
  if (exit_code_) return;
  if (settings_.unfit) tell_user(settings_.unfit->line());
  tell_user(fmt::format("{}: lost the root agent at {}: {}; {}{}", settings_.host, settings_.root,
                        lost.loss.words, own_failure(),
                        is_alive() ? "stopping this node's workers" : "the job cannot go on"));
  exit_code_ = exit_failure;
  actions_.emplace_back(CloseOutput{});
  const bool cut_off = lost.loss.kind == Loss::Kind::silent;
  if (cut_off) actions_.emplace_back(TellKeeperOfSilence{});
  stop(cut_off ? std::min(settings_.stop_grace, settings_.fence_grace) : settings_.stop_grace);
  if (settings_.has_own_terminal) actions_.emplace_back(TellEndWithoutRoot{});
}

// "rank 3 on n2 ended with exit code 1: ValueError: …, and the root may not know that; ": such a
// rank is in no report of the root's. Empty: no rank here failed by itself.
std::string NodePart::own_failure() const {
  const model::WorkerExit* const failed = model::root_cause(exits_);
  if (failed == nullptr || failed->ours) return {};
  return fmt::format("{} (the root may not know that); ",
                     model::short_text(model::cause_of(*failed)));
}

void NodePart::report(decltype(model::ToRoot::what) what) {
  actions_.emplace_back(Report{{attempt_, std::move(what)}});
}

void NodePart::fail(Failing doing, const Error& error) {
  report(model::Failed{doing, error});
}

}  // namespace toprun::run
