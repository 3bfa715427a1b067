#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/jobs/job_end.h"
#include "cli/options/split.h"

namespace toprun::jobs {

inline constexpr std::string_view after_setup_word = "setup";

struct AwaitedSetup {
  options::Split split;  // --after has the job's number, or is left out where it has ended well
  std::string note;      // what to say about it; may be empty
  Setups setups;         // the jobs that are waited for
};

// What `--after setup` stands for: the jobs that build this command line's --venv and --container,
// as the records there tell. Error: there is neither or no record, or a setup has failed or was
// ended.
Result<AwaitedSetup> after_setup(const options::Split& split, const Environment& environment);

}  // namespace toprun::jobs
