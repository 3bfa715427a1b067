#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/known_job.h"
#include "cli/options/split.h"

namespace toprun::jobs {

// The condition of `--after ID[:ok|any|notok]` on the job that it names.
enum class Demand { ok, any, notok };

struct After {
  engines::JobId job;
  Demand demand = Demand::ok;
};
// Error (exit 2): it is none.
Result<After> parse_after(const std::string& text);

// The form of sbatch's --dependency: "afterok:12".
std::string dependency_text(const After& after);

// The state of a job, or of all tasks of an array together.
enum class Fate {
  lives,      // it waits or runs
  fails,      // a task of it has failed, others live
  succeeded,  // ended with 0
  failed,
  ended,    // it is unknown how
  unknown,  // no such job is known
};
Fate fate_of(const std::vector<KnownJob>& known);

// What that state means for a job that depends on it.
enum class Prospect { wait, met, never, unclear };
Prospect prospect(Fate fate, Demand demand);

struct Settled {
  options::Split split;            // without conditions that are met already
  std::vector<std::string> notes;  // about these
};

// Checks every job that --after names before the submission: an engine that forgot a job, or never
// knew it, may treat it as successful (Slurm 22.05 does) or refuse it although it was (26.05).
// Error: the new job can never begin, or it is unknown whether it can.
Result<Settled> settle_predecessors(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
