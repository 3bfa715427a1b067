#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::scheduler {

// How the jobs of one id stand: one, or the tasks of an array, by their own number.
struct JobEnds {
  bool all_ended = true;
  std::map<std::string, int, std::less<>> codes;  // of those that ended
};

// What `scontrol show job -o ID` prints, one line per job. A job that a signal ended, or that never
// ran, has code 1 where Slurm gives it 0, as sbatch --wait has it. Pure.
JobEnds job_ends_in(std::string_view records);

// The same of `sacct --noheader --parsable2 --allocations -o JobIDRaw,State,ExitCode`. Pure.
JobEnds accounted_ends_in(std::string_view records);

// Waits for the end of a job, or of all tasks of an array: its exit code, of an array the highest.
// Asks after 1 s, then ever less often, at least every 30 s and often enough that slurmctld does
// not forget it in between (MinJobAge).
Result<int> wait_for_slurm_job(const std::string& id, const Environment& environment);

}  // namespace toprun::scheduler
