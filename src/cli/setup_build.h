#pragma once

#include <string>

#include "base/environment.h"
#include "base/error.h"
#include "cli/setup_options.h"

namespace toprun::cli {

// Whether this folder may become the environment: it is not there, or empty, or toprun setup has
// left it unfinished and works on it no more; with `force` also one that it has finished. `own_job`
// is the job that asks. Error: whose it is.
Result<void> check_free(const std::string& folder, bool force, const std::string& own_job,
                        const Environment& environment);

// Whether the engine knows this job as one that waits or runs.
bool is_alive(const std::string& job, const Environment& environment);

// Notes in the folder that this job is to build it.
Result<void> note_submission(const std::string& folder, const std::string& job);

// Builds it here; what the programs print goes to stderr. Paths are absolute. Returns the exit
// code.
int build_here(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
