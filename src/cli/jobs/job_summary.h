#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "cli/jobs/known_job.h"
#include "engines/queue.h"

namespace toprun::jobs {

// The description of a job that all verbs print. The words of this description do not change when
// the engine forgets the job.
struct JobSummary {
  engines::JobState state = engines::JobState::unknown;
  bool is_over = false;  // true even if it is unknown how the job ended
  std::string name;      // empty: unknown
  // "failed: rank 0 on n0 ended with exit code 3: …"; printable. The text names an exit code at
  // most once.
  std::string words;
  // `words` without the job's own exit code, for a table with a column of exit codes. Empty if the
  // job has not ended.
  std::string words_beside_code;
  std::optional<int> exit_code;          // unset: the job has not ended, or the code is unknown
  bool was_cancelled_unstarted = false;  // exit_code is then of no process
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
};

// Combines the engine's answer, toprun's own log of the job (job_story.h) and the run's
// report.json. The engine has priority. If no source knows how the job ended, JobSummary::words say
// so. Times on the same day as `now` are shown without a date. Pure.
JobSummary summary_of(const KnownJob& known, WallTime now);
JobSummary summary_of(const KnownJob& known);  // uses the current time

// Returns the text for a job that is known only from its files: "job 1 (train): ended with exit
// code 0, 2026-11-28 05:29:55 → 05:30:16 (from its files; Slurm has forgotten it)". `queue` is null
// if there is no engine.
std::string forgotten_text(const KnownJob& known, const engines::Queue* queue);
// Returns the text of forgotten_text() without the job's id and name, these alone: "job 1 (train)",
// or its end alone: "(from its files; Slurm has forgotten it)".
std::string forgotten_words(const KnownJob& known, const engines::Queue* queue);
std::string forgotten_head(const KnownJob& known);
std::string from_its_files(const KnownJob& known, const engines::Queue* queue);

// Returns the JSON object of a job that is known only from its files. A field is null if the files
// do not tell it.
nlohmann::json forgotten_json(const KnownJob& known);

// Returns "2026-11-28 05:29:55 → 05:30:16"; empty if both times are unknown.
std::string span_text(const std::optional<WallTime>& started, const std::optional<WallTime>& ended);

// Returns "cancelled by alice at 06:04:10", with the date if it differs from that of `beside`.
std::string cancel_words(const JobStory::Act& act, WallTime beside);

}  // namespace toprun::jobs
