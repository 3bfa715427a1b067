#include "run/conductor/restarts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/clock.h"
#include "run/model/cause.h"

namespace toprun::run {
namespace {

using model::CauseKind;
using std::chrono::milliseconds;

bool is_failure(const Verdict& verdict) {
  return verdict.kind == CauseKind::exit || verdict.kind == CauseKind::signal ||
         verdict.kind == CauseKind::hang || verdict.kind == CauseKind::ended_early ||
         verdict.kind == CauseKind::mismatch;
}

// Whether a node is gone: it was lost, lost its agent, or was signalled to leave.
bool is_loss(const Verdict& verdict) {
  return verdict.kind == CauseKind::node_lost || verdict.kind == CauseKind::agent_lost ||
         (verdict.kind == CauseKind::interrupted && !verdict.node.empty());
}

// A key that is equal for equal failures, whichever rank failed first.
std::string failure_key(const Verdict& verdict) {
  if (!verdict.exit) return verdict.message;
  const model::WorkerExit& exit = *verdict.exit;
  // Native code that aborts as Python exits does so in some of the attempts only.
  if (model::was_caught_nowhere(exit.exception, exit.last_output)) return exit.exception;
  return fmt::format("{} {} {}", exit.exit_code, exit.signal,
                     exit.error_file ? exit.error_file->message : exit.exception);
}

milliseconds pause_after(int short_lives) {
  if (short_lives < 2) return milliseconds(0);
  milliseconds pause = first_pause;
  for (int i = 2; i < short_lives && pause < longest_pause; ++i) pause *= 2;
  return std::min(pause, longest_pause);
}

}  // namespace

Restarts::Next Restarts::after(const Verdict& verdict, Life life) {
  if (verdict.ordered_to_end) return {};
  count_life(life.lasted);
  if (is_failure(verdict)) return after_failure(verdict, life);
  same_early_failures_ = 0;
  if (is_loss(verdict) && survives_a_loss()) return after_loss(verdict);
  if (verdict.kind != CauseKind::grown) return {};
  Next next{true, milliseconds(0), {}};
  pause_before(next);
  return next;
}

void Restarts::count_life(std::optional<milliseconds> lived) {
  const bool was_short = lived < short_life;
  short_lives_ = was_short ? short_lives_ + 1 : 0;
  if (!was_short) short_losses_.clear();
}

void Restarts::pause_before(Next& next) const {
  next.pause = pause_after(short_lives_);
  if (next.pause == milliseconds(0)) return;
  next.words += fmt::format("{} in {}, because the last {} attempts were short",
                            next.words.empty() ? "the next attempt starts" : "",
                            duration_text(next.pause), short_lives_);
}

// A node that is asked to leave is not at fault; and the first loss of a node repeats nothing, so
// that a pause would only keep the others and a spare idle.
Restarts::Next Restarts::after_loss(const Verdict& verdict) {
  const bool is_short = short_lives_ > 0;
  const bool was_lost = verdict.kind != CauseKind::interrupted;
  const int losses = was_lost && is_short ? ++short_losses_[verdict.node] : 0;
  Next next{true, milliseconds(0),
            verdict.node.empty() ? "starting again" : "starting again without it"};
  if (losses != 1) pause_before(next);
  if (losses >= hopeless_after) next.lost_too_often = verdict.node;
  return next;
}

// Before anything can have been trained. A rank that hung has not ended, but by its time limit.
bool Restarts::is_early(const Verdict& verdict, Life life) const {
  if (!verdict.exit) return false;
  return life.lasted < instant_ || (!life.has_met && model::is_of_an_import(*verdict.exit));
}

Restarts::Next Restarts::after_failure(const Verdict& verdict, Life life) {
  if (max_restarts_ == 0) return {};
  if (verdict.exit_code == no_restart_exit_code) {
    return {false, {}, fmt::format("exit code {} means: do not restart", no_restart_exit_code)};
  }
  if (verdict.exit && !life.has_met && model::is_of_the_program_s_text(*verdict.exit)) {
    return {false, {}, "not restarted: the program's text or arguments are at fault"};
  }
  const std::string failure = failure_key(verdict);
  const bool again = failure == last_failure_;
  same_early_failures_ = !is_early(verdict, life) ? 0 : again ? same_early_failures_ + 1 : 1;
  last_failure_ = failure;
  if (same_early_failures_ >= hopeless_after) {
    return {false,
            {},
            fmt::format("not restarted: the job failed {} times in the same way, each time {}",
                        hopeless_after,
                        life.lasted < instant_
                            ? fmt::format("within {} of the start", duration_text(instant_))
                            : "before all ranks had connected to the store")};
  }
  if (count_ == max_restarts_) {
    return {false, {}, fmt::format("all of --max-restarts {} are used up", max_restarts_)};
  }
  ++count_;
  Next next{true, milliseconds(0), fmt::format("restart {} of {}", count_, max_restarts_)};
  pause_before(next);
  return next;
}

}  // namespace toprun::run
