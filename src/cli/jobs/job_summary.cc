#include "cli/jobs/job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/signals.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "cli/jobs/job_words.h"
#include "engines/queue.h"
#include "observe/report/report.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::JobState;
using model::AttemptRecord;
using model::CauseKind;

constexpr int code_of_a_signal = 128;

// The words of Slurm's states, for a job that only its report still tells of.
constexpr std::string_view over_its_limit = "ended by Slurm at its time limit";
constexpr std::string_view put_back = "put back into the queue";  // it is unknown by which user
constexpr std::string_view by_slurm = "ended by Slurm";
constexpr std::string_view made_room = "ended by Slurm to make room for another job";

const AttemptRecord* last_attempt(const KnownJob& known) {
  if (!known.report || known.report->run.attempts.empty()) return nullptr;
  return &known.report->run.attempts.back();
}

std::optional<CauseKind> kind_of(const AttemptRecord& attempt) {
  return attempt.cause ? std::optional(attempt.cause->kind) : std::nullopt;
}

std::optional<CauseKind> kind_of_end(const KnownJob& known) {
  const AttemptRecord* const last = last_attempt(known);
  return last == nullptr ? std::nullopt : kind_of(*last);
}

// The code that the run itself reported at its end.
std::optional<int> code_of_run(const KnownJob& known) {
  return known.report ? model::reported_code(known.report->run) : std::nullopt;
}

std::optional<WallTime> report_time(const KnownJob& known) {
  return known.report ? model::if_known(model::updated_at(known.report->run)) : std::nullopt;
}

// Whether the run was ended from outside: why is not in what its ranks did.
bool is_from_outside(std::optional<CauseKind> kind) {
  return kind == CauseKind::interrupted || kind == CauseKind::preempted ||
         kind == CauseKind::requeued || kind == CauseKind::time_limit;
}

// A report that an earlier run of a requeued job left is not of the one that runs now.
bool is_of_earlier_run(const KnownJob& known) {
  const auto updated = report_time(known);
  return known.job && code_of_run(known) && known.job->started &&
         known.job->state != JobState::pending && updated && *updated < *known.job->started;
}

const model::Hang* hang_at_end(const KnownJob& known) {
  const AttemptRecord* const last = last_attempt(known);
  if (last == nullptr || !last->hang || last->hang->over) return nullptr;
  return is_from_outside(kind_of(*last)) || !last->cause ? &*last->hang : nullptr;
}

// Of a job with a cancellation.
const JobStory::Act& cancel_of(const KnownJob& known) {
  const JobStory::Act* const cancel =
      cancel_since(known.story, known.report ? known.report->run.started : WallTime::min());
  return cancel != nullptr ? *cancel : known.story.cancels.back();
}

// Whether the run of the report, or the wait after it, was ended by what `toprun cancel` did.
bool was_cancelled_by_us(const KnownJob& known) {
  if (known.story.cancels.empty()) return false;
  if (known.job && has_ended(known.job->state)) return known.job->state == JobState::cancelled;
  if (!known.report) return true;
  const JobStory::Act* const cancel = cancel_since(known.story, known.report->run.started);
  if (cancel == nullptr) return false;  // of an earlier run
  const auto code = code_of_run(known);
  if (!code || code == exit_preempted) return true;
  const auto updated = report_time(known);
  return kind_of_end(known) == CauseKind::interrupted || !updated || cancel->at <= *updated;
}

// … so that no run has told of its end: none had begun, it was killed, or the next was waited for.
bool was_cancelled_without_end(const KnownJob& known) {
  if (!was_cancelled_by_us(known)) return false;
  return code_of_run(known).value_or(exit_preempted) == exit_preempted;
}

// Whether this signal may have ended a run with this exit code. Before SIGKILL, Slurm sends
// SIGTERM.
bool may_end_with(const JobStory::Signal& signal, std::optional<int> code) {
  if (signal.name == "KILL" || !code || *code <= code_of_a_signal) return true;
  return signal_name(*code - code_of_a_signal) == "SIG" + signal.name.raw();
}

// The signal of `toprun cancel --signal` that came before the end of a run that a signal ended.
// Null if there is none.
const JobStory::Signal* signal_before_end(const KnownJob& known) {
  const bool is_killed = known.job && known.job->state == JobState::cancelled;
  if (was_cancelled_by_us(known) || is_of_earlier_run(known)) return nullptr;
  if (!is_killed && kind_of_end(known) != CauseKind::interrupted) return nullptr;
  // The later one is of this run: the report may be an earlier run's, of a job that was requeued.
  std::optional<WallTime> began = known.job ? known.job->started : std::nullopt;
  if (known.report) began = std::max(began.value_or(WallTime::min()), known.report->run.started);
  if (!began) return nullptr;  // the signal may have been to an earlier run
  const auto ended = known.job      ? known.job->ended
                     : known.report ? model::if_known(known.report->run.ended)
                                    : std::nullopt;
  for (const JobStory::Signal& signal : known.story.signals | std::views::reverse) {
    // A task may end between toprun's look and scancel. Slurm's times are whole seconds.
    const bool is_later = ended && signal.act.at >= *ended + std::chrono::seconds(1);
    if (!is_later && is_since(signal.act, *began) && may_end_with(signal, code_of_run(known)))
      return &signal;
  }
  return nullptr;
}

std::string signal_words(const JobStory::Signal& signal, WallTime beside) {
  return fmt::format("{} sent SIG{} at {}", signal.act.by, signal.name,
                     moment_text(signal.act.at, beside));
}

// Whether an earlier run of a job that has not begun, or that was put back into the queue, is
// known.
bool has_run_before(const KnownJob& known) {
  const bool is_counted = known.job && known.job->restarts > 0;
  return is_counted || last_attempt(known) != nullptr ||
         (known.report && !known.report->run.earlier.empty());
}

bool has_begun(const KnownJob& known) {
  return known.job ? known.job->started.has_value() : known.has_output;
}

std::string cancel_words(const KnownJob& known, WallTime beside) {
  const std::string words = cancel_words(cancel_of(known), beside);
  if (has_begun(known)) return words;
  return words +
         (has_run_before(known) ? ", while it waited to start again" : ", before it started");
}

std::string code_words(int code, ExitCode shown) {
  if (shown == ExitCode::left_out) return code == 0 ? "ended" : "failed";
  return code == 0 ? "ended with exit code 0" : fmt::format("failed, exit code {}", code);
}

// It may have been cancelled; only its engine knew.
std::string interruption_words(int code, ExitCode shown) {
  const std::string by =
      code > code_of_a_signal ? " by " + signal_name(code - code_of_a_signal) : std::string();
  if (shown == ExitCode::left_out) return "interrupted" + by;
  return fmt::format("interrupted{}, exit code {}", by, code);
}

// Whether the record of a setup tells how it ended.
bool has_built(const KnownJob& known) {
  return known.setup && (known.setup->state == setup::State::complete ||
                         known.setup->state == setup::State::failed);
}

std::string words_of_setup(const KnownJob& known, ExitCode shown) {
  if (known.setup->state == setup::State::complete) return code_words(0, shown);
  return "failed: " + printable(known.setup->why);
}

// How a job ended that its engine has forgotten; empty: its files do not tell.
std::string words_of_report(const KnownJob& known, ExitCode shown = ExitCode::shown) {
  if (has_built(known)) return words_of_setup(known, shown);
  const auto code = code_of_run(known);
  if (!code) return {};
  const std::optional<CauseKind> kind = kind_of_end(known);
  if (kind == CauseKind::requeued) return {};
  if (kind == CauseKind::time_limit) return std::string(over_its_limit);
  if (kind == CauseKind::preempted) return std::string(made_room);
  if (kind == CauseKind::interrupted) return interruption_words(*code, shown);
  return code_words(*code, shown);
}

std::string words_of_engine(const KnownJob& known, ExitCode shown) {
  if (shown == ExitCode::shown) return known.engine_words;
  // An engine's words for this end are its exit code.
  return known.job->state == JobState::completed ? code_words(0, shown)
                                                 : known.engine_words_beside_code;
}

bool never_started(const KnownJob& known) {
  return !known.failed_predecessors.empty() && !was_cancelled_by_us(known);
}

std::string end_words(const KnownJob& known, WallTime beside, ExitCode shown) {
  if (was_cancelled_by_us(known)) return cancel_words(known, beside);
  if (never_started(known)) return "not started: " + join(known.failed_predecessors, "; ");
  if (known.job && has_ended(known.job->state)) return words_of_engine(known, shown);
  return words_of_report(known, shown);
}

// Why it ended, behind the words for how; empty: they say all.
std::string why_words(const KnownJob& known, WallTime beside) {
  if (is_of_earlier_run(known)) return {};
  if (known.job && has_built(known) && known.setup->state == setup::State::failed) {
    return ": " + printable(known.setup->why);
  }
  const JobStory::Signal* const signal = signal_before_end(known);
  const std::string sent = signal != nullptr ? signal_words(*signal, beside) : std::string();
  if (const model::Hang* const hang = hang_at_end(known)) {
    return ", it " + model::past_text(*hang, beside) + (sent.empty() ? "" : "; " + sent);
  }
  if (!sent.empty()) return ": " + sent;
  const AttemptRecord* const last = last_attempt(known);
  if (last == nullptr || !last->cause) return {};
  const bool is_cancelled = known.job && known.job->state == JobState::cancelled;
  const bool says_no_more = was_cancelled_by_us(known) ||
                            (is_cancelled && is_from_outside(last->cause->kind)) ||
                            (!known.job && last->cause->kind == CauseKind::interrupted);
  return says_no_more ? std::string() : ": " + model::short_text(*last->cause);
}

JobState state_of_forgotten(const KnownJob& known) {
  if (was_cancelled_by_us(known) || never_started(known)) return JobState::cancelled;
  if (words_of_report(known).empty()) return JobState::unknown;
  if (kind_of_end(known) == CauseKind::interrupted) return JobState::unknown;
  if (has_built(known)) {
    return known.setup->state == setup::State::complete ? JobState::completed : JobState::failed;
  }
  return code_of_run(known) == 0 ? JobState::completed : JobState::failed;
}

std::optional<int> reported_code(const KnownJob& known) {
  if (known.job && known.job->end == engines::JobEnd::dependency) return exit_code_of(*known.job);
  if (was_cancelled_without_end(known)) return engines::exit_cancelled;
  if (never_started(known)) return engines::exit_not_started;
  const auto code = code_of_run(known);
  if (code && !is_of_earlier_run(known)) return code;
  if (!known.job && has_built(known)) {
    return known.setup->state == setup::State::complete ? 0 : exit_failure;
  }
  return known.job ? exit_code_of(*known.job) : std::nullopt;
}

// Whether the words for why it ended have the job's own exit code.
bool cause_says_code(const KnownJob& known) {
  const AttemptRecord* const last = last_attempt(known);
  return last != nullptr && !is_of_earlier_run(known) && hang_at_end(known) == nullptr &&
         kind_of(*last) == CauseKind::exit && last->cause->exit_code &&
         last->cause->exit_code == reported_code(known);
}

// Whether the words for why it ended have the time limit, which is then said once.
bool says_limit(const KnownJob& known) {
  const AttemptRecord* const last = last_attempt(known);
  return last != nullptr && !is_of_earlier_run(known) && hang_at_end(known) == nullptr &&
         kind_of(*last) == CauseKind::time_limit;
}

// A run that ended well may have lost a node before.
bool has_ended_well(const KnownJob& known) {
  const bool is_well_for_engine = !known.job || known.job->state == JobState::completed;
  return code_of_run(known) == 0 && is_well_for_engine && !was_cancelled_by_us(known) &&
         !is_of_earlier_run(known);
}

// Perhaps it is the reason; a batch script may also have failed after it.
std::string last_line_words(const KnownJob& known) {
  const bool is_known = known.last_line.empty() || was_cancelled_by_us(known) ||
                        never_started(known) || has_built(known);
  return is_known ? std::string() : fmt::format("; its output ends with: {}", known.last_line);
}

std::string words_of_ended(const KnownJob& known, WallTime beside, ExitCode requested) {
  const ExitCode shown = cause_says_code(known) ? ExitCode::left_out : requested;
  std::string how = end_words(known, beside, shown);
  const std::string why = why_words(known, beside);
  if (says_limit(known) && how.starts_with(over_its_limit)) {
    how.replace(0, over_its_limit.size(), by_slurm);
  }
  if (has_ended_well(known)) return how + report::history_text(known.report->run) + why;
  if (!how.empty()) return how + (why.empty() ? last_line_words(known) : why);
  if (!known.waited_for.empty()) {
    return fmt::format("it had not begun: it waited for job{} {}",
                       known.waited_for.size() == 1 ? "" : "s", join(known.waited_for, ", "));
  }
  std::string text = "it is not known how it ended";
  if (!known.later_setup.empty()) {
    text += fmt::format(" (the later setup of job {} has replaced its record)", known.later_setup);
  }
  if (!known.report) return text + last_line_words(known);
  if (const auto updated = report_time(known)) {
    text += fmt::format("; {} at {}", code_of_run(known) ? "requeued" : "last heard of",
                        moment_text(*updated, beside));
  }
  const AttemptRecord* const last = last_attempt(known);
  if (last != nullptr && last->interrupted && !code_of_run(known)) {
    text += ", interrupted by " + signal_name(last->interrupted->signal);
  }
  if (const model::Hang* const hang = hang_at_end(known)) {
    text += ", when it " + model::past_text(*hang, beside);
  }
  return text;
}

// Why a job that waits has been in the queue before; empty: it has not, as far as is known.
std::string requeue_words(const KnownJob& known, WallTime now) {
  if (known.job->restarts == 0) return {};
  const auto updated = report_time(known);
  if (!code_of_run(known) || !updated) return std::string(put_back);
  const std::optional<CauseKind> kind = kind_of_end(known);
  const WallTime end_of_run = *updated;
  const std::string_view how = kind == CauseKind::preempted  ? "preempted"
                               : kind == CauseKind::requeued ? "requeued"
                                                             : std::string_view();
  if (!how.empty()) return fmt::format("{} at {}", how, moment_text(end_of_run, now));
  // Slurm's time of the submission is then the time when the job was put back.
  const WallTime at = std::max(end_of_run, known.job->submitted.value_or(end_of_run));
  return fmt::format("{} at {}", put_back, moment_text(at, now));
}

std::string restart_words(const model::RunRecord& run) {
  if (run.restarts == 0) return {};
  if (run.max_restarts == 0) return fmt::format(", restart {}", run.restarts);
  return fmt::format(", restart {} of {}", run.restarts, run.max_restarts);
}

// "on 3 of 4 nodes": the run goes on without a node that the job still has. Empty: it has all.
std::string nodes_words(const KnownJob& known) {
  const model::RunRecord& run = known.report->run;
  const std::size_t used = last_attempt(known)->nodes.size() + run.spares.size();
  const auto all = static_cast<std::size_t>(std::max<std::int64_t>(known.job->nodes, 0));
  if (used == 0 || used >= all) return {};
  return fmt::format(", on {} of its {} nodes", used, all);
}

std::string words_of_running(const KnownJob& known, WallTime now) {
  const AttemptRecord* const last = last_attempt(known);
  if (last == nullptr || is_of_earlier_run(known)) return known.engine_words;
  if (const auto code = code_of_run(known)) {
    const bool is_interrupted = kind_of(*last) == CauseKind::interrupted;
    const auto ended = report_time(known);
    return fmt::format("its run {}{}, exit code {}",
                       is_interrupted ? "was " + interruption_words(*code, ExitCode::left_out)
                                      : code_words(*code, ExitCode::left_out),
                       ended ? " at " + moment_text(*ended, now) : "", *code);
  }
  if (last->hang && !last->hang->over && !last->ended) {
    return "hangs" + model::since_text(*last->hang, now);
  }
  const std::string restart = restart_words(known.report->run);
  if (last->ended) return known.engine_words + restart + ": starts again";
  return has_ranks(*last)
             ? known.engine_words + restart + nodes_words(known)
             : fmt::format("{}{}: {}", known.engine_words, restart, phase_words(*last));
}

std::string words_of_active(const KnownJob& known, WallTime now) {
  const Job& job = *known.job;
  if (job.state == JobState::running) return words_of_running(known, now);
  if (job.state == JobState::pending) {
    const std::string requeued = requeue_words(known, now);
    return requeued.empty() ? known.engine_words
                            : fmt::format("{}, {}", known.engine_words, requeued);
  }
  if (job.state == JobState::completing && was_cancelled_by_us(known)) {
    return fmt::format("ending: {}", cancel_words(known, now));
  }
  return known.engine_words;
}

std::string name_of(const KnownJob& known) {
  if (known.job) return printable(known.job->name);
  if (!known.story.name.empty()) return known.story.name.shown();
  const bool is_named =
      !known.name.empty() || !known.report || !known.report->run.job.raw().starts_with("slurm.");
  return is_named ? known.name.shown() : known.report->run.title.shown();
}

}  // namespace

std::string cancel_words(const JobStory::Act& act, WallTime beside) {
  return fmt::format("cancelled by {} at {}", act.by, moment_text(act.at, beside));
}

JobSummary summary_of(const KnownJob& known, WallTime now) {
  JobSummary out;
  out.name = name_of(known);
  const bool active = known.job && !has_ended(known.job->state);
  if (active) {
    out.state = known.job->state;
    out.words = words_of_active(known, now);
    if (out.state != JobState::pending) out.started = known.job->started;
    return out;
  }
  out.state = known.job ? known.job->state : state_of_forgotten(known);
  if (known.report) {
    out.started = model::if_known(known.report->run.started);
    if (code_of_run(known)) out.ended = report_time(known);
  }
  if (has_built(known)) {
    out.started = time_in(known.setup->begun);
    out.ended = time_in(known.setup->ended);
  }
  if (was_cancelled_without_end(known)) out.ended = cancel_of(known).at;
  if (known.job && known.job->started) out.started = known.job->started;
  if (known.job && known.job->ended) out.ended = known.job->ended;
  out.exit_code = reported_code(known);
  out.is_over = known.job || was_cancelled_by_us(known) || never_started(known) ||
                !words_of_report(known).empty();
  out.was_cancelled_unstarted = out.state == JobState::cancelled && !has_begun(known) &&
                                !has_run_before(known) && out.exit_code == engines::exit_cancelled;
  const WallTime beside = out.ended.value_or(now);
  out.words = words_of_ended(known, beside, ExitCode::shown);
  out.words_beside_code = words_of_ended(known, beside, ExitCode::left_out);
  return out;
}

std::string span_text(const std::optional<WallTime>& started,
                      const std::optional<WallTime>& ended) {
  if (!started) return {};
  if (!ended) return "began " + time_text(*started);
  return fmt::format("{} → {}", time_text(*started), moment_text(*ended, *started));
}

std::string from_its_files(const KnownJob& known, const engines::Queue* queue) {
  const std::string why = !known.why_only_files.empty() ? known.why_only_files
                          : queue == nullptr
                              ? std::string("no engine can be asked here")
                              : fmt::format("{} has forgotten it", queue->engine_in_words());
  return fmt::format("(from its files; {})", why);
}

std::string forgotten_words(const KnownJob& known, const engines::Queue* queue) {
  const JobSummary what = summary_of(known);
  const std::string span = span_text(what.started, what.ended);
  return fmt::format("{}{}{} {}", what.words, span.empty() ? "" : ", ", span,
                     from_its_files(known, queue));
}

std::string forgotten_head(const KnownJob& known) {
  const std::string name = summary_of(known).name;
  return fmt::format("job {}{}", printable(known.id),
                     name.empty() ? "" : fmt::format(" ({})", name));
}

std::string forgotten_text(const KnownJob& known, const engines::Queue* queue) {
  return fmt::format("{}: {}", forgotten_head(known), forgotten_words(known, queue));
}

nlohmann::json forgotten_json(const KnownJob& known) {
  const JobSummary what = summary_of(known);
  return {{"id", known.id},
          {"name", or_null(what.name)},
          {"state", or_null(what.state != JobState::unknown, name_of(what.state))},
          {"started", or_null(what.started)},
          {"ended", or_null(what.ended)},
          {"exit_code", or_null(what.exit_code)}};
}

JobSummary summary_of(const KnownJob& known) {
  return summary_of(known, std::chrono::system_clock::now());
}

}  // namespace toprun::jobs
