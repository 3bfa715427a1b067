#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// Returns the environment that the job inherits through sbatch or salloc. If toprun runs inside
// another job or allocation, this function removes that job's variables. Settings for Slurm's
// programs remain. Pure function.
Environment without_job(const Environment& environment);

// Passes the script to sbatch on standard input. Returns the id of the job, or of the array. If
// sbatch refuses, the error lists what this user may choose instead, as far as sinfo and sacctmgr
// report these choices.
Result<std::string> submit_slurm(const std::string& script, const JobRequest& job,
                                 const SlurmFacts& facts, const Environment& environment);

// Returns what `sbatch --test-only` reports: whether the job could run, and when and where.
Result<std::string> test_slurm(const std::string& script, const JobRequest& job,
                               const SlurmFacts& facts, const Environment& environment);

// Explains why `sbatch --test-only` predicts a start in about a year. Empty: sbatch predicts an
// earlier start, or none. Pure.
std::string note_of_far_start(std::string_view said, WallTime now);

// Returns the error for a missing program: the program's name, and what to do.
Error no_slurm(std::string_view program);

// The accounts and QOS that a user may name in a request. Empty: unknown.
struct Choices {
  std::vector<std::string> accounts;
  std::vector<std::string> qos;
};

// Parses ACCOUNT|QOS,QOS per line, as sacctmgr prints a user's associations. Pure function.
Choices choices_in(std::string_view associations);

// Queries sacctmgr, which needs accounting. Some clusters have no accounting.
Choices ask_choices(const Environment& environment);

// Returns an error with sbatch's or salloc's message, and what to change in the request. Pure
// function.
Error refusal(std::string_view stderr_text, const JobRequest& job, const SlurmFacts& facts,
              const Choices& choices);

// Returns the id in the output of `sbatch --parsable`: ID[;CLUSTER], after warnings that a site may
// print. nullopt: there is no id. Pure function.
std::optional<std::string> job_id_in(std::string_view text);

}  // namespace toprun::engines
