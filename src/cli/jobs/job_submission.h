#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_options.h"
#include "engines/slurm/defaults.h"
#include "engines/slurm/facts.h"

namespace toprun::jobs {

// The steps of a submission that `toprun submit` and `toprun setup` have in common.

// Changes to the folder of --chdir, to which the job's relative paths refer.
Result<void> enter_directory(const options::Split& split, options::Command command);

// Makes three paths of the request absolute: the folder, the log directory, and toprun's own path.
Result<void> make_paths_absolute(engines::JobRequest& request);

// Returns the environment in which Slurm's commands run. The job inherits it. This environment
// contains no variables of another job, and no variables (SBATCH_…) whose values are already in
// lines of the script.
Environment submission_environment(const Environment& environment);

struct Prepared {
  engines::SlurmFacts facts;
  std::string script;
};
// Queries the cluster, adds the cluster's defaults to the request, and generates the job script.
// Prints notes on stderr. Error: there is no engine (a dry run does not need one), or the engine
// cannot satisfy the request.
Result<Prepared> prepare(SubmitOptions& options, engines::Purpose purpose,
                         const Environment& clean);

// Prints the script on stdout, and the reasons for its lines on stderr. Returns the exit code.
int dry_run(const SubmitOptions& options, const Prepared& prepared, const Environment& clean);

// Submits the job and saves the script in the log directory. Returns the job's id.
Result<std::string> submit_job(const SubmitOptions& options, const Prepared& prepared,
                               const Environment& clean);

// Prints the id and suggests next commands. If the options request it, also waits for the job or
// shows the job's output.
int after_submission(const SubmitOptions& options, const std::string& id, const Environment& clean);

}  // namespace toprun::jobs
