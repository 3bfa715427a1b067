#pragma once

#include <optional>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/split.h"
#include "cli/options/values.h"

namespace toprun::options {

Given as_given(const GivenOption& option);

// The user's value of one flag: the last one of the command line, else its variable's, else a
// file's. `split` holds the file's only if neither of the others has the flag (config.h).
std::optional<Given> given_of(const Flag& flag, const Split& split, const Environment& environment);

// The same of a flag that may be given several times: all of the command line's words in their
// order, else the variable's. Of any other at most one.
std::vector<Given> all_given(const Flag& flag, const Split& split, const Environment& environment);

}  // namespace toprun::options
