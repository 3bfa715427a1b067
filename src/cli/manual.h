#pragma once

#include "options/call.h"

namespace toprun::cli {

// The verb `man`: the manual page of toprun and all of its verbs, in the macros of man(7), made of
// what their help is made of.
Result<int> run_man(const options::Call& call);

// The verb `help [VERB [VERB]]`: what VERB --help prints; without one, the short help.
Result<int> run_help(const options::Call& call);

}  // namespace toprun::cli
