#pragma once

#include <optional>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/split.h"
#include "cli/options/values.h"

namespace toprun::options {

Argument as_argument(const ParsedOption& option);

// The user's value for a flag: the last value on the command line, else the variable's value, else
// a file's value. `split` contains a file's value only if neither the command line nor the variable
// sets the flag (config.h).
std::optional<Argument> argument_of(const Flag& flag, const Split& split,
                                    const Environment& environment);

// The values of a repeatable flag: all values on the command line in their order, else the
// variable's value. For other flags, the result contains at most one value.
std::vector<Argument> all_arguments(const Flag& flag, const Split& split,
                                    const Environment& environment);

}  // namespace toprun::options
