#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/split.h"

namespace toprun::jobs {

// The command line for the run inside the job, from the words of a submission. Each option is one
// word together with its value. Options from configuration files are included, so that later
// changes of the files do not change the job. `leave_out` selects options that the submission
// itself has handled.
std::vector<std::string> run_words(
    const options::Split& split,
    const std::function<bool(const options::ParsedOption&)>& leave_out);

}  // namespace toprun::jobs
