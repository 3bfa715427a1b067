#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/options/split.h"

namespace toprun::jobs {

// The condition in `--after ID[:ok|any|notok]`: how the named job has to end.
enum class Demand { ok, any, notok };

struct After {
  engines::JobId job;
  Demand demand = Demand::ok;
};
// Parses the value of --after. Error (exit 2): the text is not a valid condition.
Result<After> parse_after(const std::string& text);

// Returns the condition in the form of sbatch's --dependency: "afterok:12".
std::string dependency_text(const After& after);

// The conditions in the value of sbatch's --dependency: "afterok:3:12_4,afterany:5".
struct Conditions {
  std::vector<After> all;
  bool one_suffices = false;  // separated by "?"
};
// A condition that is not about how a job ends counts as `any`. The result lacks conditions that
// cannot be parsed. Pure.
Conditions parse_dependency(std::string_view text);

using FindKnown = std::function<std::vector<KnownJob>(const engines::JobId&)>;
// Returns why a job with these conditions can never start: "job 3 failed, exit code 3", for each
// job that did not end as required. Empty: no job in the conditions is known to prevent the start.
std::vector<std::string> never_met(const Conditions& conditions, const FindKnown& find);

// The state of a job, or of all tasks of an array together.
enum class Fate {
  lives,      // pending or running
  fails,      // a task has failed, other tasks are still pending or running
  succeeded,  // ended with 0
  failed,
  ended,    // ended, but it is unknown how
  unknown,  // the job is unknown
};
Fate fate_of(const std::vector<KnownJob>& known);

// Whether a job that depends on another has to wait, may start, or can never start.
enum class Prospect { wait, met, never, unclear };
Prospect prospect(Fate fate, Demand demand);

struct Resolved {
  options::Split split;            // without conditions that are already met
  std::vector<std::string> notes;  // notes about the removed conditions
};

// Checks every job in --after before the submission. The check is necessary, because an engine may
// treat a forgotten or unknown job as successful (Slurm 22.05), or refuse a forgotten job that was
// successful (26.05). Error: the new job can never begin, or it is unknown whether it can begin.
Result<Resolved> resolve_predecessors(const options::Split& split, const Environment& environment);

inline constexpr std::string_view after_setup_word = "setup";

struct AwaitedSetup {
  // the command line with the job's number in --after; without --after if the job has succeeded
  options::Split split;
  std::string note;  // a note for the user; may be empty
  Setups setups;     // the jobs to wait for
};

// Replaces `setup` in `--after setup` by the jobs that build this command line's --venv and
// --container. The setup records at the paths of --venv and --container contain the ids of these
// jobs. Error: neither --venv nor --container is given, there is no record, or a setup failed or
// was cancelled.
Result<AwaitedSetup> after_setup(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
