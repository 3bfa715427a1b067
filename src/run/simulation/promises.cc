#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <utility>

#include "run/simulation/world.h"

namespace toprun::simulation {

using model::CauseKind;

void World::check_assignment(const std::string& to, const model::Assignment& assignment) {
  AssignedRanks& assigned = assigned_ranks_[assignment.attempt];
  if (assigned.given.empty())
    assigned.given.resize(static_cast<std::size_t>(assignment.world_size));
  assigned.store = assignment.store->agent;
  const run::Course& course = coordinator_->course();
  expect(
      assignment.attempt == course.attempts.back().number && assignment.restarts == course.restarts,
      "{} gets attempt {} after {} restarts", to, assignment.attempt, assignment.restarts);
  expect(std::ssize(assigned.given) == assignment.world_size,
         "attempt {}: {} gets another world size", assignment.attempt, to);
  for (int rank = assignment.first_rank; rank < assignment.first_rank + assignment.nproc; ++rank) {
    const bool is_one = rank >= 0 && rank < std::ssize(assigned.given);
    expect(is_one, "attempt {}: its world has no rank {}", assignment.attempt, rank);
    if (!is_one) return;
    expect(!assigned.given[static_cast<std::size_t>(rank)], "attempt {}: rank {} is given twice",
           assignment.attempt, rank);
    assigned.given[static_cast<std::size_t>(rank)] = true;
  }
  const run::Node* const node = coordinator_->roster().find(to);
  expect(node != nullptr && node->has_seat, "{} gets ranks but has no seat", to);
}

// Checks that no rank starts while a node known to the root still runs ranks of an earlier attempt.
void World::workers_started(Agent& agent, int attempt, int first_rank, int count) {
  trace("{}: ranks {} to {} of attempt {} run", agent.host(), first_rank, first_rank + count - 1,
        attempt);
  if (agent.host() == flapping_) flap(agent);
  for (auto before = working_.begin(); before != working_.lower_bound(attempt); ++before) {
    for (const int index : before->second) {
      const Agent& other = *agents_[static_cast<std::size_t>(index)];
      const run::Node* const node = coordinator_->roster().find(other.id());
      expect(node == nullptr || !node->has_seat,
             "{} starts ranks of attempt {} while {} runs those of attempt {}", agent.host(),
             attempt, other.host(), before->first);
    }
  }
  working_[attempt].insert(agent.index());
  AssignedRanks& assigned = assigned_ranks_[attempt];
  assigned.started += count;
  if (assigned.started != std::ssize(assigned.given) || assigned.disturbed) return;
  timeline_.in(scenario_.work, [this, attempt] {
    AssignedRanks& ranks = assigned_ranks_[attempt];
    ranks.is_late = ranks.hangs;
    if (ranks.disturbed || ranks.hangs) return;
    for (const auto& one : agents_) one->work_is_done(attempt);
  });
}

void World::workers_ended(const Agent& agent, int attempt) {
  const auto of_attempt = working_.find(attempt);
  if (of_attempt == working_.end()) return;
  of_attempt->second.erase(agent.index());
  if (of_attempt->second.empty()) working_.erase(of_attempt);
}

// Checks that an attempt's phases are in order, and that a rank that is named is on its node.
void World::check_phases(const run::AttemptCourse& attempt) {
  const run::Phases& phases = attempt.phases;
  expect(!phases.met || (phases.last_connect && *phases.last_connect <= *phases.met),
         "attempt {}: ranks met before they came", attempt.number);
  expect(!phases.last_connect || *phases.first_connect <= *phases.last_connect,
         "attempt {}: the last rank came before the first", attempt.number);
  const auto& awaited = attempt.awaited;
  expect(!awaited || (awaited->arrived < awaited->of && !phases.met),
         "attempt {}: the root waits for ranks that have come", attempt.number);
  for (const auto& spread : {attempt.spreads.import, attempt.spreads.first_collective}) {
    if (!spread || !spread->rank) continue;
    const bool is_there = std::ranges::any_of(attempt.nodes, [&](const model::NodeRecord& node) {
      return node.name == spread->node && *spread->rank >= node.first_rank &&
             *spread->rank < node.first_rank + node.nproc;
    });
    expect(is_there, "attempt {}: rank {} is said to be on {}", attempt.number, *spread->rank,
           spread->node);
  }
}

// The root hears of an exit, and has to take it into account.
void World::failure_is_known(const std::string& from, const model::ToRoot& message) {
  const auto& exit = *std::get<Shared<model::WorkerExit>>(message.what);
  const run::Node* const node = coordinator_->roster().find(from);
  const int attempt = coordinator_->course().attempts.back().number;
  const bool counts = coordinator_->stage() == run::Stage::running && node != nullptr &&
                      node->has_seat && node->is_linked() && message.attempt == attempt;
  const auto found = std::ranges::find_if(failures_, [&](const Failure& failure) {
    return failure.attempt == message.attempt && failure.exit.host == exit.host &&
           failure.exit.rank == exit.rank;
  });
  if (!counts || found == failures_.end()) return;
  found->is_known = true;
  if (!found->exit.ours && !stopped_at_) stopped_by_a_failure_.insert(attempt);
}

// The failures of the attempt's ranks, as far as the root has heard of them; any may be
// its cause: those that were first of all that ended by themselves or, without such, of those that
// were stopped.
std::vector<const model::WorkerExit*> World::first_failures(int attempt) const {
  const auto time_of = [](const model::WorkerExit& exit) {
    return exit.error_file ? *exit.error_file->raised : exit.ended;
  };
  std::vector<const model::WorkerExit*> first;
  for (const Failure& failure : failures_) {
    if (failure.attempt != attempt || !failure.is_known) continue;
    const model::WorkerExit& exit = failure.exit;
    const auto order = first.empty() ? std::strong_ordering::less
                                     : std::pair(exit.ours, time_of(exit)) <=>
                                           std::pair(first.front()->ours, time_of(*first.front()));
    if (order > 0) continue;
    if (order < 0) first.clear();
    first.push_back(&exit);
  }
  return first;
}

namespace {

bool is_of_a_rank(const run::Verdict& verdict) {
  return verdict.kind == CauseKind::exit || verdict.kind == CauseKind::signal ||
         verdict.kind == CauseKind::ended_early;
}

}  // namespace

// Checks that an attempt's cause is the first failure of a rank, not a consequence of it. Where
// none has told of a failure of its own, and something else went wrong, a consequence is all that
// is known.
void World::check_cause(const run::AttemptCourse& attempt) {
  const run::Verdict& verdict = attempt.verdict;
  const auto first = first_failures(attempt.number);
  expect(verdict.kind || first.empty(),
         "attempt {}: the verdict says that no rank failed, but a rank failed", attempt.number);
  const bool is_stopped_by_it = stopped_by_a_failure_.contains(attempt.number);
  expect(verdict.exit || !is_stopped_by_it, "attempt {}: a rank's failure was first, but: {}",
         attempt.number, verdict.message);
  if (!verdict.exit || (first.empty() && other_faults_)) return;
  if (verdict.kind == CauseKind::ended_early) {
    return expect(first.empty(), "attempt {}: the verdict says that {}, but {} failed by itself",
                  attempt.number, verdict.message, first.empty() ? "none" : first.front()->host);
  }
  const bool right = std::ranges::any_of(first, [&](const model::WorkerExit* exit) {
    return exit->host == verdict.node && exit->rank == verdict.exit->rank &&
           exit->exit_code == verdict.exit->exit_code && exit->signal == verdict.exit->signal;
  });
  expect(right, "attempt {}: the verdict says that the cause is: {}, but the first failure was {}",
         attempt.number, verdict.message, first.empty() ? "nothing" : first.front()->host);
}

// Checks what ended an attempt.
void World::check_attempt(const run::AttemptCourse& attempt) {
  const run::Verdict& verdict = attempt.verdict;
  if (is_of_a_rank(verdict)) ++failed_attempts_;
  const std::string which = fmt::format("attempt {}: ", attempt.number);
  const bool is_known = verdict.node.empty() || std::ranges::any_of(agents_, [&](const auto& one) {
                          return one->host() == verdict.node;
                        });
  expect(is_known, "{}its cause is on {}, which is not a node", which, verdict.node);
  check_phases(attempt);
  const AssignedRanks& given = assigned_ranks_[attempt.number];
  expect(!attempt.phases.spawned || given.started == std::ssize(given.given),
         "{}{} of {} ranks were started, but all are said to be", which, given.started,
         given.given.size());
  for (const auto& [question, asked] : unanswered_) {
    expect(false, "{}question {} is not answered when it ends", which, question);
  }
  check_pause(attempt);
  check_cause(attempt);
  AssignedRanks& ranks = assigned_ranks_[attempt.number];
  if (verdict.kind == CauseKind::hang) {
    expect(ranks.hangs || ranks.alarm, "{}it is said to hang", which);
  }
  if (verdict.kind == CauseKind::launcher && verdict.message.contains(store_unreachable)) {
    expect(!can_reach(ranks.store), "{}the store can be reached, but: {}", which, verdict.message);
  }
  const bool enough = scenario_.agents >= scenario_.settings.size.least;
  if (!disturbed_ && enough) {
    const bool grown =
        verdict.kind == CauseKind::grown && scenario_.settings.grow != run::Grow::at_restart;
    expect(!verdict.kind || grown, "{}nothing went wrong, but: {}", which, verdict.message);
  }
}

void World::check_end() {
  const bool root_lives = agents_.front()->lives();
  expect(!root_lives || over_, "the root has not ended");
  for (const auto& one : agents_) {
    expect(one->living_workers() == 0, "{} has ranks left", one->host());
    expect(one->is_over() || one->is_own() || one->link() == nullptr, "{}'s agent has not ended",
           one->host());
  }
  if (!root_lives || !over_) return;
  const run::Course& course = coordinator_->course();
  const bool hang_ends = scenario_.settings.on_hang == run::OnHang::abort;
  expect(
      !course.verdict.ordered_to_end || root_may_end_ || hang_ends || !scenario_.settings.elastic,
      "only members got the order to end, but the job has ended: {}", course.verdict.message);
  const int code = course.verdict.exit_code;
  expect(
      failed_attempts_ - (is_of_a_rank(course.verdict) ? 1 : 0) <= scenario_.settings.max_restarts,
      "more restarts than are allowed");
  for (const auto& one : agents_) {
    const auto ended_with = one->exit_code();
    expect(disturbed_ || !ended_with || *ended_with == code, "{} ends with {}, the run with {}",
           one->host(), ended_with.value_or(0), code);
  }
  expect((code == 0) == !course.verdict.kind || course.verdict.ordered_to_end,
         "exit code {} with the cause \"{}\"", code, course.verdict.message);
  if (course.verdict.exit && course.verdict.kind == CauseKind::exit) {
    expect(code == model::cause_code(*course.verdict.exit),
           "the exit code does not belong to the cause");
  }
}

}  // namespace toprun::simulation
