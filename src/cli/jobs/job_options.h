#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_words.h"
#include "cli/options/split.h"
#include "engines/slurm/job.h"
#include "node/plan/options.h"

namespace toprun::jobs {

enum class DryRun { no, client, server };

// The log directory of `toprun submit`, relative to the working directory.
inline constexpr std::string_view default_log_dir = "logs";

// Options of `toprun submit` and `toprun shell`, before the cluster is queried.
struct SubmitOptions {
  engines::JobRequest request;  // `log_dir` is as given, `toprun` is not set
  plan::Options run;            // for `toprun submit`; checked in the same way as by `toprun run`
  std::vector<std::string> notes;
  DryRun dry_run = DryRun::no;
  bool verbose = false;
  bool wait = false;
  bool follow = false;
  Setups setups;  // the jobs that --after setup refers to
  // For `toprun shell`: the environment in which the shell starts, with absolute folders. For
  // `toprun submit`, the environment is in `run`.
  plan::Activation activation;
  container::Request container;
  std::optional<std::string> attach;
};

// Parses the command line of `toprun submit`. If an option is not given, its value comes from the
// variable that sbatch reads (for `toprun shell`: salloc). Pure. Errors have exit_usage.
Result<SubmitOptions> submit_options(const options::Split& split,
                                     const std::vector<std::string>& arguments,
                                     const Environment& environment,
                                     const std::function<bool(const std::string&)>& is_file);
// Parses the options for the Slurm job of `toprun setup`; the caller adds the command that this job
// runs.
Result<SubmitOptions> setup_job_options(const options::Split& split,
                                        const Environment& environment);
// Parses the command line of `toprun shell`.
Result<SubmitOptions> shell_options(const options::Split& split, const Environment& environment);

// Returns the value of sbatch's --export for this job: "ALL", "NONE", "ALL,A=1", "A,B".
std::string exported_variables(const engines::JobRequest& request, const Environment& environment);
// Whether, with this value of --export, a job gets all variables of the submitting process.
bool passes_all(std::string_view exported);
// Whether this value of --export has the name of that variable, without a value of its own.
bool passes(std::string_view exported, std::string_view name);

// Returns the command line for the run inside the job, made from the words of a submission. Each
// option and its value are one word. Options from configuration files are included, so that later
// changes of the files do not change the job. The result lacks the options that `leave_out`
// selects, because the submission itself has handled them.
std::vector<std::string> run_words(
    const options::Split& split,
    const std::function<bool(const options::ParsedOption&)>& leave_out);

}  // namespace toprun::jobs
