#pragma once

#include <optional>
#include <string>

#include "base/text/clock.h"
#include "cli/jobs/known_job.h"
#include "engines/queue.h"

namespace toprun::jobs {

// What every verb says of a job, in the same words, before and after its engine forgets it.
struct JobTold {
  engines::JobState state = engines::JobState::unknown;
  bool is_over = false;  // also where the state that it ended in is unknown
  std::string name;      // empty: unknown
  // "failed: rank 0 on n0 ended with exit code 3: …"; printable. It says an exit code once.
  std::string words;
  // The same for a table that has a column of exit codes: without the job's own. Of one that has
  // not ended, empty.
  std::string words_beside_code;
  std::optional<int> exit_code;  // unset: it has not ended, or it is not known how
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
};

// From what the engine, our story and the run's report say. The engine's word counts first; where
// nothing says how a job ended, so do the words. `now`: moments of that day get no date. Pure.
JobTold told(const KnownJob& known, WallTime now);
JobTold told(const KnownJob& known);  // now

// Of a job that only its files tell of: "job 1 (train): ended with exit code 0, 2026-11-28 05:29:55
// → 05:30:16 (from its files; Slurm has forgotten it)". Without a queue no engine can be asked.
std::string forgotten_text(const KnownJob& known, const engines::Queue* queue);

// "2026-11-28 05:29:55 → 05:30:16"; empty: neither is known.
std::string span_text(const std::optional<WallTime>& started, const std::optional<WallTime>& ended);

// "cancelled by alice at 06:04:10".
std::string cancel_words(const JobStory::Act& act, WallTime beside);

// "06:04:10", with the date unless that is the day of `beside`.
std::string moment_text(WallTime time, WallTime beside);

}  // namespace toprun::jobs
