#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// The verb `man`: the manual page of toprun and all of its verbs, in the macros of man(7), made of
// what their help is made of.
int run_man(const std::vector<std::string>& arguments, const Environment& environment);

// The verb `help [VERB [VERB]]`: what VERB --help prints; without one, the short help.
int run_help(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
