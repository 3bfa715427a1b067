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

// Options of `toprun submit --on kubernetes`, before the cluster is queried.
struct PodOptions {
  // the operator; unset: toprun chooses one that the cluster has
  std::optional<engines::kubernetes::Operator> which = {};
  engines::kubernetes::Workload job;
  std::vector<std::string> notes;
  DryRun dry_run = DryRun::no;
  bool as_json = false;      // a dry run prints JSON
  bool interactive = false;  // the job's pods only sleep
  std::string patch = {};    // path of a patch file; empty: no patch
  // The variables and values for the job's own Secret. The values are stored only here, so that no
  // other object can contain them.
  std::map<std::string, std::string> secrets = {};
  bool on_runai = false;
  bool wait = false;
  bool follow = false;
};

// Parses the options from the command line, environment variables and configuration files. Pure.
// Errors (exit 2): an invalid value, a Slurm option without an equivalent for pods, no image.
// engines::kubernetes::check() reports what a particular operator does not support.
Result<PodOptions> pod_options(const options::Split& argument,
                               const std::vector<std::string>& arguments,
                               const Environment& environment);

}  // namespace toprun::pods
