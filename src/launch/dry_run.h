#pragma once

#include <string>

#include "launch/job.h"

namespace toprun::launch {

// What `toprun` would do here, for people: where it is, how many of what and why, and the commands
// word for word. Secrets stand as <secret>.
Result<std::string> describe(const Job& job);

}  // namespace toprun::launch
