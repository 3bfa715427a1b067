#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/queue.h"

namespace toprun::jobs {

// The reasons why a pending job waits, according to the engine (Slurm).
struct Waiting {
  std::vector<std::string> reasons;    // phrases: the reason, the jobs on which it depends, the
                                       // jobs ahead of it
  bool needs_room = false;             // it waits only for free nodes
  bool can_never_start = false;        // `reasons` says why
  bool needs_change = false;           // it cannot start before the job or a limit is changed
  std::optional<std::int64_t> ahead;   // number of waiting jobs before it
  std::optional<WallTime> start;       // expected by the engine
  std::optional<WallTime> not_before;  // earliest possible start
  std::string unlimited;  // "job 48 on n0 has no time limit", of running jobs after whose assumed
                          // end (365 days) the engine plans the start; then `start` is unset
  bool was_requeued = false;  // true: not_before comes from the engine, not from --begin
};

// Returns why a job waits; an empty Waiting if it does not wait. `starts` is the result of
// Queue::starts(), `all` contains the jobs of all users, and `now` is the time from which "in 5
// min" counts. If the job can never start, queries the engine about the jobs on which it depends;
// otherwise makes no query.
Waiting waiting(const engines::Queue& queue, const engines::Job& job,
                const std::vector<engines::Job>& starts, const std::vector<engines::Job>& all,
                WallTime now);
// Whether waiting() needs `all`, because the job waits for other jobs or for their nodes.
bool needs_others(const engines::Job& job);

// Like waiting() above, but queries the engine. If a query to the engine fails, the result lacks
// the facts from this query.
Waiting waiting(const engines::Queue& queue, const engines::Job& job);

// Whether the engine plans the job's start so far ahead that perhaps it has assumed an end of a job
// without a time limit: waiting() with all jobs tells.
bool is_planned_far_ahead(const engines::Job& job, WallTime now);

// Whether a label says that a text is about the start.
enum class Labelled { no, yes };
// Returns "expected to start at 2026-11-22 20:10:00, in 5 min; earlier if others end early", "not
// before 2026-11-22 20:10:00, in 5 min (--begin)".
std::string start_text(const Waiting& waiting, const engines::Job& job, WallTime now,
                       Labelled labelled);

// Returns all facts in `waiting` as lines; the last line says when the job may start. Empty: the
// job does not wait.
std::vector<std::string> lines_of(const Waiting& waiting, const engines::Job& job, WallTime now);

}  // namespace toprun::jobs
