#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun report JOB`: a run's report, as JSON or as a page.
Result<int> run_report(const options::Call& call);

}  // namespace toprun::cli
