#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_end.h"
#include "cli/options/split.h"
#include "engines/slurm/job.h"
#include "node/plan/options.h"

namespace toprun::jobs {

enum class DryRun { no, client, server };

inline constexpr std::string_view default_log_dir = "logs";  // of submit, in the folder of the call

// `toprun submit` and `toprun shell`, before the cluster is asked.
struct SubmitOptions {
  engines::JobRequest request;  // log_dir as given, toprun not set
  plan::Options run;            // of submit: checked as `toprun run` checks them
  std::vector<std::string> notes;
  DryRun dry_run = DryRun::no;
  bool verbose = false;
  bool wait = false;
  bool follow = false;
  Setups setups;  // that --after setup stands for
  // Of shell: what it is entered with; folders are absolute. Of submit it is in `run`.
  plan::Activation activation;
  container::Wanted container;
  std::optional<std::string> attach;
};

// What the command line says, and where it says nothing the variables that sbatch (for shell:
// salloc) itself reads. Pure. Errors have exit_usage.
Result<SubmitOptions> submit_options(const options::Split& split,
                                     const std::vector<std::string>& arguments,
                                     const Environment& environment,
                                     const std::function<bool(const std::string&)>& is_file);
// Of setup's job, before its last line is known.
Result<SubmitOptions> setup_job_options(const options::Split& split,
                                        const Environment& environment);
Result<SubmitOptions> shell_options(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
