#pragma once

#include <string>

#include "base/environment.h"
#include "base/error.h"
#include "jobs/job_options.h"
#include "scheduler/slurm/defaults.h"
#include "scheduler/slurm/facts.h"

namespace toprun::jobs {

// What submit and setup share between their options and the engine's answer.

// From here on relative paths are the job's: --chdir's.
Result<void> enter_directory(const options::Split& split, options::Command command);

// Makes the request's folder, log directory and toprun absolute.
Result<void> settle_paths(scheduler::JobRequest& request);

// The environment in which Slurm is asked, and which the job inherits: without what another job has
// left there, and without variables that say once more what the script's lines say.
Environment submission_environment(const Environment& environment);

struct Prepared {
  scheduler::SlurmFacts facts;
  std::string script;
};
// Asks the cluster, adds its defaults to the request and writes the script; what is worth knowing
// goes to stderr. Error: no engine (but for a dry run on the client), or it cannot give that.
Result<Prepared> prepare(SubmitOptions& options, scheduler::Purpose purpose,
                         const Environment& clean);

// The script to stdout, the reasons for its lines to stderr. Returns the exit code.
int dry_run(const SubmitOptions& options, const Prepared& prepared, const Environment& clean);

// Submits it and keeps the script beside the logs. The job's id.
Result<std::string> submit_job(const SubmitOptions& options, const Prepared& prepared,
                               const Environment& clean);

// Prints the id, says what to type next, and waits or shows the output where that is asked for.
int after_submission(const SubmitOptions& options, const std::string& id, const Environment& clean);

}  // namespace toprun::jobs
