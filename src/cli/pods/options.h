#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_options.h"
#include "cli/options/split.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

using jobs::DryRun;

// `toprun submit --on kubernetes`, before the cluster is asked.
struct PodOptions {
  std::optional<engines::kubernetes::Operator> which = {};  // unset: the cluster's
  engines::kubernetes::Workload job;
  std::vector<std::string> notes;
  DryRun dry_run = DryRun::no;
  bool as_json = false;      // what a dry run prints, for programs
  bool interactive = false;  // its pods sleep
  std::string patch = {};    // a file; empty: none
  // Of the variables of the Secret that goes with the job. Here alone, so that no object can have
  // them.
  std::map<std::string, std::string> secrets = {};
  bool on_runai = false;
  bool wait = false;
  bool follow = false;
};

// What the command line, variables and files say. Pure. Errors (exit 2): a value that is wrong, an
// option of Slurm's that pods have no counterpart for, no image. What one operator cannot do is
// left to engines::kubernetes::check().
Result<PodOptions> pod_options(const options::Split& given,
                               const std::vector<std::string>& arguments,
                               const Environment& environment);

}  // namespace toprun::pods
