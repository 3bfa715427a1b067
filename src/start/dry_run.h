#pragma once

#include <string>

#include "plan/job.h"

namespace toprun::start {

// What `toprun` would do here, for people: where it is, how many of what and why, and the commands
// word for word. Secrets stand as <secret>.
Result<std::string> describe(const plan::Job& job);

}  // namespace toprun::start
