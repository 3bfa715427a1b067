#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "jobs/known_job.h"
#include "options/split.h"

namespace toprun::jobs {

// What `--after ID[:ok|any|notok]` asks of the job that it names.
enum class Demand { ok, any, notok };

struct After {
  scheduler::JobId job;
  Demand demand = Demand::ok;
};
// Error (exit 2): it is none.
Result<After> parse_after(const std::string& text);

// As sbatch's --dependency has it: "afterok:12".
std::string dependency_text(const After& after);

// What has become of a job, of all tasks of an array together.
enum class Fate {
  lives,      // it waits or runs
  fails,      // a task of it has failed, others live
  succeeded,  // ended with 0
  failed,
  ended,    // nobody knows how
  unknown,  // nobody knows such a job
};
Fate fate_of(const std::vector<KnownJob>& known);

// What that means for a job that is to begin after it.
enum class Prospect { wait, met, never, unclear };
Prospect prospect(Fate fate, Demand demand);

struct Settled {
  options::Split split;            // without those that are met already
  std::vector<std::string> notes;  // about these
};

// Looks at every job that --after names, before the engine is asked: one that has forgotten a job,
// or never knew it, may take it for one that has ended well (Slurm 22.05 does), or refuse it
// although it has (26.05). Error: the job can never begin, or nobody can say whether it may.
Result<Settled> settle_predecessors(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
