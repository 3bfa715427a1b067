#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// The environment for sbatch and salloc, which the job inherits: without what another job has left
// there (a login shell started inside one, an allocation's own shell). What configures Slurm's
// programs stays. Pure.
Environment without_job(const Environment& environment);

// Hands the script to sbatch on its standard input. The job's id, an array's for an array. What
// sbatch refuses is answered with what this user may choose instead, as far as sinfo and sacctmgr
// tell.
Result<std::string> submit_slurm(const std::string& script, const JobRequest& job,
                                 const SlurmFacts& facts, const Environment& environment);

// What `sbatch --test-only` says of the script: whether the job could run, and when and where.
Result<std::string> test_slurm(const std::string& script, const JobRequest& job,
                               const SlurmFacts& facts, const Environment& environment);

// No program of this name: what was looked for and what to do.
Error no_slurm(std::string_view program);

// What a user may name in a request. Empty: not known.
struct Choices {
  std::vector<std::string> accounts;
  std::vector<std::string> qos;
};

// ACCOUNT|QOS,QOS per line, as sacctmgr prints a user's associations. Pure.
Choices choices_in(std::string_view associations);

// Asks sacctmgr, which clusters without accounting lack.
Choices ask_choices(const Environment& environment);

// sbatch's or salloc's own words about a refusal, and what to change. Pure.
Error refusal(std::string_view stderr_text, const JobRequest& job, const SlurmFacts& facts,
              const Choices& choices);

// The id in what `sbatch --parsable` prints: ID[;CLUSTER], below warnings that a site may print.
// nullopt: there is none. Pure.
std::optional<std::string> job_id_in(std::string_view text);

}  // namespace toprun::engines
