#include "run/conductor/coordinator.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "base/net/hostlist.h"
#include "base/os/signals.h"
#include "base/text/text.h"

namespace toprun::run {

using model::CauseKind;
using model::Finish;
using model::Loss;
using model::Signalled;
using model::ToRoot;
using std::chrono::milliseconds;

namespace {

// Whether an engine may have ended the run. Its SIGTERM may have killed all ranks before the agents
// handled it.
bool engine_may_have_ended(const Verdict& verdict) {
  if (verdict.exit_code == 0) return verdict.ordered_to_end;
  return verdict.kind == CauseKind::interrupted ||
         (verdict.exit && verdict.exit->signal == SIGTERM);
}

// Whether the signal that killed the ranks has now come to an agent too: it was sent to all.
bool explains(const ToRoot& message, const Verdict& verdict) {
  const auto* const signalled = std::get_if<Signalled>(&message.what);
  return signalled != nullptr && verdict.kind == CauseKind::signal && verdict.exit &&
         verdict.exit->signal == signalled->signal;
}

// nullopt: the cause is not one rank that failed.
std::optional<int> rank_of_cause(const Verdict& verdict) {
  return verdict.exit && verdict.absent.empty() ? std::optional(verdict.exit->rank) : std::nullopt;
}

void interrupt(Verdict& verdict) {
  const int signal = verdict.exit->signal;
  verdict.exit_code = 128 + signal;
  verdict.kind = CauseKind::interrupted;
  verdict.message = "ended by " + signal_name(signal);
  verdict.node.clear();
  verdict.exit.reset();
  verdict.ordered_to_end = true;
}

}  // namespace

Verdict early(CauseKind kind, const Error& error) {
  Verdict verdict;
  verdict.exit_code = error->exit_code;
  verdict.kind = kind;
  verdict.message = error.line();
  return verdict;
}

Verdict lost_early(const std::string& host, const Loss& loss) {
  Conductor conductor({host}, {1}, {});
  conductor.lost(0, loss.kind == Loss::Kind::silent, loss.words, {});
  return conductor.verdict();
}

Coordinator::Coordinator(Settings settings, Moment now)
    : settings_(std::move(settings)),
      roster_(settings_.size),
      restarts_(settings_.size, settings_.max_restarts, settings_.instant_failure),
      now_(now) {
  course_.started = now.wall;
  begin_attempt();
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::gathering:
      return "gathering";
    case Stage::arranging:
      return "arranging";
    case Stage::preparing:
      return "preparing";
    case Stage::running:
      return "running";
    case Stage::pausing:
      return "pausing";
    case Stage::asking:
      return "asking";
    case Stage::telling:
      return "telling";
    case Stage::parting:
      return "parting";
    case Stage::over:
      return "over";
  }
  return {};
}

void Coordinator::on(Event event, Moment now) {
  now_ = now;
  std::visit([this](auto& what) { happened(what); }, event);
  advance();
}

void Coordinator::pass(Moment now) {
  now_ = now;
  const bool due = wake_at() && now.steady >= *wake_at();
  if (!due) return;
  report_waiting();
  if (stage_ == Stage::arranging) {
    if (now.steady >= deadline_) end_attempt(no_order_in_time());
  } else if (stage_ == Stage::preparing) {
    if (now.steady >= deadline_) {
      end_attempt(attempt_.store_unreachable ? *attempt_.store_unreachable : nobody_is_ready());
    }
  } else if (stage_ == Stage::running) {
    remind();
    attempt_.watch->passed(now.steady, *attempt_.conductor);
    attempt_.conductor->passed(now.steady);
    lose_the_late();
  } else if (stage_ == Stage::pausing) {
    begin_attempt();
  } else if (stage_ == Stage::asking) {
    conclude();
  } else if (stage_ == Stage::telling) {
    happened(
        EndReported{course_.verdict.message.empty() ? "the run is over" : course_.verdict.message});
  } else if (stage_ == Stage::parting) {
    stage_ = late_agents_ > 0 ? Stage::parting : Stage::over;
    late_agents_ = 0;
    deadline_ = now.steady + farewell_timeout;
    if (stage_ == Stage::over) actions_.emplace_back(Over{});
  }
  advance();
}

// Advances from stage to stage until nothing changes.
void Coordinator::advance() {
  for (std::optional<Stage> before; before != stage_;) {
    before = stage_;
    if (stage_ == Stage::gathering) {
      gather();
    } else if (stage_ == Stage::running) {
      carry_out_wishes();
      carry_out_orders();
    } else if (stage_ == Stage::parting && late_agents_ == 0 && roster_.nodes().empty()) {
      stage_ = Stage::over;
      actions_.emplace_back(Over{});
    }
  }
}

std::optional<SteadyTime> Coordinator::wake_at() const {
  switch (stage_) {
    case Stage::gathering:
      return std::min({last_call_.value_or(deadline_), next_report_,
                       choice_due_.value_or(SteadyTime::max()),
                       gathering_due_.value_or(SteadyTime::max())});
    case Stage::running:
      return wake_while_running();
    case Stage::arranging:
    case Stage::preparing:
      return std::min(deadline_, next_report_);
    case Stage::pausing:
    case Stage::asking:
    case Stage::telling:
    case Stage::parting:
      return deadline_;
    case Stage::over:
      break;
  }
  return std::nullopt;
}

void Coordinator::happened(const Came& came) {
  Node* const found = roster_.find(came.agent);
  if (found == nullptr) return;
  Node& node = *found;
  const int newcomers_before = roster_.newcomers();
  if (!came.our_address.empty()) root_address_ = came.our_address;  // the root learns a better one
  roster_.arrived(node, came.address);
  if (settings_.each_comes_once) came_.insert(node.join.host);
  node.linked_at = now_.steady;
  gathering_changed();
  if (stage_ == Stage::parting) {
    dismiss(node, finish_message_);
    late_agents_ = std::max(0, late_agents_ - 1);
    return;
  }
  if (node.has_seat) return;
  const bool is_chosen_later = stage_ == Stage::gathering && choice_due_;
  if (is_chosen_later) return;
  tell_of_visitor(node.join.host + " waits as a spare");
  tell_to_wait(node, roster_.newcomers() > newcomers_before);
  keep_spares();
  if (stage_ == Stage::running) count_newcomers();
}

void Coordinator::happened(Said& said) {
  Node* const node = roster_.find(said.agent);
  if (node == nullptr) return;
  // In every stage: its sender waits until it is taken. Lines are of the link, not of an attempt.
  if (auto* output = std::get_if<model::OutputLines>(&said.message.what)) {
    actions_.emplace_back(Show{said.agent, node->join.host, std::move(*output)});
    return;
  }
  if (!node->has_seat || !node->is_linked()) return;
  switch (stage_) {
    case Stage::gathering:
    case Stage::pausing:
      return on_report_between_attempts(*node, said.message);
    case Stage::arranging:
    case Stage::preparing:
      return on_report_while_preparing(*node, said.message);
    case Stage::running:
      return on_report_while_running(*node, said.message);
    case Stage::asking:
      if (explains(said.message, course_now().verdict)) {
        const int signal = course_now().verdict.exit->signal;
        std::erase_if(course_now().failed_too,
                      [&](const model::FailedToo& some) { return some.signal == signal; });
        interrupt(course_now().verdict);
        copy_verdict();
      }
      break;
    case Stage::telling:
    case Stage::parting:
    case Stage::over:
      break;
  }
}

void Coordinator::happened(const Left& left) {
  Node* const node = roster_.find(left.agent);
  if (node == nullptr) return;
  if (stage_ >= Stage::asking) return roster_.forget(left.agent);
  const Loss loss = left.loss.value_or(Loss{Loss::Kind::closed, "the connection was closed"});
  const std::string host = node->join.host;
  const bool was_spare = node->state == NodeState::spare;
  if (!node->has_seat) {
    roster_.forget(left.agent);
    if (was_spare) {
      tell_of_visitor(fmt::format("{} no longer waits as a spare", host));
      lost_spare(host, left.loss ? left.loss->words : "it left");
      if (stage_ == Stage::running) count_newcomers();
    }
    return;
  }
  if (stage_ == Stage::gathering || stage_ == Stage::pausing) {
    same_members_ = false;
    left_early_ = {host, loss.words};
    tell_of_visitor(fmt::format("{} left before the job was complete: {}", host, loss.words));
    gathering_changed();
    return roster_.forget(left.agent);
  }
  if (stage_ == Stage::running) {
    return lost_member(*node, loss.kind == Loss::Kind::silent, loss.words);
  }
  roster_.unseat(*node, NodeState::lost);
  end_attempt(lost_early(host, loss));
}

void Coordinator::happened(const NodeEnded& ended) {
  const std::vector<std::string> nodes = awaited();
  if (std::ranges::find(nodes, ended.node) == nodes.end()) return;
  if (!ended_.insert(ended.node).second) return;
  came_.insert(ended.node);
  if (has_spare()) {
    lost_spare(ended.node, "it ended before it joined");
    return tell_user(ended.node + " has ended before it joined: the job starts without it");
  }
  Verdict verdict =
      early(CauseKind::agent_lost,
            Error{fmt::format("{} has ended before it joined", ended.node),
                  "the engine has no process of this run on that host",
                  "see that host's messages above, and check that toprun is installed on it",
                  exit_failure});
  verdict.node = ended.node;
  end_early(std::move(verdict));
}

void Coordinator::happened(const EngineAnswered& reported) {
  if (stage_ != Stage::asking) return;
  Verdict& verdict = course_now().verdict;
  // If all ranks saved their state and exited with 0, only a job that is to run again is
  // unfinished.
  const bool matters =
      reported.stop && (verdict.exit_code != 0 || reported.stop->exit_code == exit_preempted);
  if (matters) {
    verdict.kind = reported.stop->kind;
    verdict.exit_code = reported.stop->exit_code;
    verdict.message = reported.stop->words;
    verdict.exit.reset();
    verdict.node.clear();
    copy_verdict();
  }
  conclude();
}

void Coordinator::happened(const EndReported& reported) {
  if (stage_ != Stage::telling) return;
  finish_message_ = {course_.verdict.exit_code, reported.summary};
  dismiss_all();
}

void Coordinator::begin_attempt() {
  forget_old_attempts();
  AttemptCourse course;
  course.number = course_.attempts.empty() ? 0 : course_now().number + 1;
  course.started = now_.wall;
  course.phases.began = now_.steady;
  course_.attempts.push_back(std::move(course));
  actions_.emplace_back(KeepRecord{});
  roster_.forget_the_lost();
  roster_.open();
  last_call_.reset();
  choice_due_.reset();
  gathering_due_.reset();
  deadline_ = now_.steady + settings_.join_timeout;
  missing_pause_ = report_missing_every;
  next_report_ = now_.steady + missing_pause_;
  stage_ = Stage::gathering;
}

void Coordinator::forget_old_attempts() {
  std::vector<AttemptCourse>& attempts = course_.attempts;
  if (attempts.size() >= most_recorded) attempts.erase(attempts.begin());
  if (attempts.size() < most_recorded_with_nodes) return;
  AttemptCourse& old = *(attempts.end() - most_recorded_with_nodes);
  old.nodes = {};
  old.lost_nodes = {};
  old.failed_too = {};
  old.networks = {};
  old.order.reset();
  old.hang.reset();
}

void Coordinator::end_early(Verdict verdict) {
  course_now().verdict = std::move(verdict);
  if (!course_now().ended) course_now().ended = now_.wall;
  end_run();
}

// Reports the attempt's end, and whether another one follows.
void Coordinator::end_attempt(Verdict verdict) {
  if (attempt_.watch) carry_out_wishes();
  std::vector<int> questions =
      attempt_.watch ? attempt_.watch->take_questions() : std::vector<int>();
  if (!questions.empty()) tell_places(std::move(questions), {});
  AttemptCourse& ended = course_now();
  ended.verdict = std::move(verdict);
  ended.started_no_rank = !attempt_.conductor;
  ended.failed_too = model::failed_too(ended.verdict.exits, rank_of_cause(ended.verdict),
                                       ended.interrupted ? ended.interrupted->signal : 0);
  ended.ended = now_.wall;
  ended.spreads.prefetch = model::spread_of(attempt_.prefetched);
  // The exits have been reported; keeping them would fill the memory of a job that restarts often.
  if (course_.attempts.size() > 1) (course_.attempts.end() - 2)->verdict.exits = {};
  for (std::string& line : fabric::network_lines(ended.networks)) tell_user(std::move(line));
  const Restarts::Next next =
      restarts_.after(ended.verdict, {lifetime(), ended.phases.imported.has_value()});
  interruption_.reset();
  tell_other_losses();
  if (!next.again || is_hopeless_without(next.lost_too_often) || is_too_small()) {
    if (!next.again && !next.words.empty()) tell_user(next.words);
    return end_run();
  }
  course_.restarts = restarts_.count();
  actions_.emplace_back(TellFailure{ended.number});
  evict_by(ended.verdict);
  same_members_ = true;
  for (const Part& part : attempt_.parts) {
    Node* const node = roster_.find(part.agent);
    if (node != nullptr && node->has_seat && node->leaves_by) {
      dismiss(*node, {128 + *node->leaves_by, {}});
    }
    same_members_ = same_members_ && node != nullptr && node->has_seat;
  }
  actions_.emplace_back(KeepRecord{});
  if (!next.words.empty()) tell_user(next.words + words_for_the_last_call());
  if (next.pause == milliseconds(0)) return begin_attempt();
  stage_ = Stage::pausing;
  deadline_ = now_.steady + next.pause;
}

// What an elastic job that lost a node waits for before its next attempt; empty: it begins at once,
// or cannot begin with the nodes that are left.
std::string Coordinator::words_for_the_last_call() const {
  const auto left = std::ranges::count_if(roster_.nodes(), [](const auto& entry) {
    return entry.second->is_linked() && !entry.second->leaves_by;
  });
  const Size& size = roster_.size();
  if (left < size.least) {
    return fmt::format("; the next attempt waits for {}", counted(size.least - left, "more node"));
  }
  const bool waits = !same_members_ && left < size.most && settings_.last_call >= least_told_wait &&
                     !no_other_can_come();
  if (!waits) return {};
  return fmt::format("; the next attempt waits up to {} for another node",
                     duration_text(settings_.last_call));
}

// Whether those that are left after an attempt are too few for another, and will be.
bool Coordinator::is_too_small() {
  if (!no_other_can_come()) return false;
  const auto left = static_cast<int>(std::ranges::count_if(roster_.nodes(), [](const auto& entry) {
    return entry.second->is_linked() && !entry.second->leaves_by;
  }));
  if (left >= settings_.size.least) return false;
  const std::vector<std::string> gone = gone_members();
  tell_user(fmt::format("not restarted: {}{}",
                        gone.empty() ? "" : "without " + hosts::short_list(gone) + ", ",
                        too_few_are_left(left)));
  return true;
}

// The hosts of members that have been lost or were to leave in this attempt. The node of a rank
// that failed need not be one of them.
std::vector<std::string> Coordinator::gone_members() const {
  std::vector<std::string> hosts;
  for (const Part& part : attempt_.parts) {
    const Node* const node = roster_.find(part.agent);
    if (node == nullptr || !node->has_seat || node->leaves_by) hosts.push_back(part.host);
  }
  return hosts;
}

// The verdict names at most one node, and none that was lost after a rank had failed.
void Coordinator::tell_other_losses() {
  AttemptCourse& ended = course_now();
  std::vector<model::LostNode>& lost = ended.lost_nodes;
  const bool is_a_loss =
      ended.verdict.kind == CauseKind::node_lost || ended.verdict.kind == CauseKind::agent_lost;
  if (is_a_loss && ended.verdict.node.empty()) lost.clear();  // its message names them all
  if (!ended.verdict.exit) {
    std::erase_if(lost, [&](const auto& one) { return one.node.raw() == ended.verdict.node; });
  }
  if (lost.empty()) return;
  std::vector<std::string> hosts;
  for (const model::LostNode& one : lost) hosts.push_back(one.node.raw());
  tell_user(fmt::format("{} {} lost {}: {}", hosts::short_list(hosts),
                        hosts.size() == 1 ? "was" : "were", is_a_loss ? "too" : "in the meantime",
                        lost.front().why.raw()));
}

void Coordinator::end_run() {
  copy_verdict();
  if (!engine_may_have_ended(course_.verdict)) return conclude();
  stage_ = Stage::asking;
  deadline_ = now_.steady + engine_limit;
  actions_.emplace_back(AskEngine{});
}

// Copies the last attempt's verdict to the run, except the exits, which may be many.
void Coordinator::copy_verdict() {
  std::vector<model::WorkerExit> exits = std::exchange(course_now().verdict.exits, {});
  course_.verdict = course_now().verdict;
  course_now().verdict.exits = std::move(exits);
}

void Coordinator::conclude() {
  course_.ended = now_.wall;
  stage_ = Stage::telling;
  deadline_ = now_.steady + telling_limit;
  actions_.emplace_back(TellEnd{});
}

// If a failure ended the run before all nodes joined, the others would wait for a missing root.
bool Coordinator::others_may_still_come() const {
  const AttemptCourse& last = course_.attempts.back();
  return settings_.others_come && !last.phases.joined && !course_.verdict.ordered_to_end &&
         course_.verdict.kind != CauseKind::join_timeout;
}

void Coordinator::dismiss_all() {
  late_agents_ = others_may_still_come() ? roster_.size().most - roster_.seated() : 0;
  std::vector<std::string> linked;
  for (const auto& [agent, node] : roster_.nodes()) {
    if (node->is_linked()) linked.push_back(agent);
  }
  for (const std::string& agent : linked) dismiss(*roster_.find(agent), finish_message_);
  roster_.forget_the_lost();
  stage_ = Stage::parting;
  deadline_ = now_.steady + (late_agents_ > 0 ? latecomers_limit : farewell_timeout);
}

const model::Assignment* Coordinator::part_of(const std::string& agent) const {
  const Node* const node = roster_.find(agent);
  const bool has_part =
      attempt_.is_arranged && node != nullptr && node->part && *node->part < attempt_.parts.size();
  return has_part ? &attempt_.parts[*node->part].plan : nullptr;
}

// When it is said again what the stage waits for; nothing while ranks work. Gathering has rules of
// its own.
std::optional<SteadyTime> Coordinator::report_due() const {
  if (stage_ == Stage::arranging || stage_ == Stage::preparing) return next_report_;
  if (stage_ != Stage::running) return std::nullopt;
  if (const auto ends = attempt_.conductor->grace_ends()) {
    return std::max(next_report_, *ends + report_missing_every);
  }
  if (attempt_.started < attempt_.parts.size()) return next_report_;
  return std::nullopt;
}

// In a log nothing else shows it.
void Coordinator::report_waiting() {
  const auto due = report_due();
  if (!due || now_.steady < *due) return;
  next_report_ = now_.steady + report_again_every;
  tell_user(awaited_words());
}

void Coordinator::send(const Node& node, model::ToNode message) {
  if (node.is_linked()) actions_.emplace_back(Send{node.join.agent, std::move(message)});
}

void Coordinator::send_members(const model::ToNode& message) {
  for (const Part& part : attempt_.parts) {
    const Node* const node = roster_.find(part.agent);
    if (node != nullptr && node->has_seat) send(*node, message);
  }
}

// Ends one agent's part in the run.
void Coordinator::dismiss(Node& node, Finish finish) {
  same_members_ = false;
  send(node, std::move(finish));
  actions_.emplace_back(Close{node.join.agent});
  roster_.unseat(node, NodeState::leaving);
}

}  // namespace toprun::run
