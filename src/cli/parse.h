#pragma once

#include <expected>
#include <string>
#include <vector>

#include "options/call.h"

namespace toprun::cli {

// What all verbs share. An exit code: nothing is left to do, because help was asked for and
// printed, or the arguments are wrong, which one line on stderr says.

// What stands behind a verb, taken apart.
std::expected<options::Split, int> parse(options::Command command,
                                         const std::vector<std::string>& arguments);

// The same, and all that files give to the call (config/config.h).
std::expected<options::Call, int> call_of(options::Command command,
                                          const std::vector<std::string>& arguments,
                                          const Environment& environment);

}  // namespace toprun::cli
