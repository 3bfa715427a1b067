#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/split.h"

namespace toprun::jobs {

// The words of a submission's command line that belong to the run in the job, each in a form that
// needs no look at the next one. What files say is among them, so that the job is the same whatever
// they say when it begins. `leave_out`: options that the submission itself has obeyed.
std::vector<std::string> run_words(
    const options::Split& split, const std::function<bool(const options::GivenOption&)>& leave_out);

}  // namespace toprun::jobs
