#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// The verb `man`: the manual page of toprun and all its verbs in the macros of man(7), from the
// same tables as the help.
Result<int> run_man(const options::Call& call);

// The verb `help [VERB [VERB]]`: prints the help of VERB, or the short help without one.
Result<int> run_help(const options::Call& call);

}  // namespace toprun::cli
