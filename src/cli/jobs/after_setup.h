#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_end.h"
#include "cli/options/split.h"

namespace toprun::jobs {

inline constexpr std::string_view after_setup_word = "setup";

struct AwaitedSetup {
  // With the job's number in --after, or without --after if the job has succeeded
  options::Split split;
  std::string note;  // a note for the user; may be empty
  Setups setups;     // the jobs to wait for
};

// Resolves `--after setup` to the jobs that build this command line's --venv and --container,
// according to the setup records there. Error: neither option is given, there is no record, or a
// setup failed or was cancelled.
Result<AwaitedSetup> after_setup(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
