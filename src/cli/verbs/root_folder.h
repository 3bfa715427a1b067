#pragma once

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// Checks that --root, if given, contains a copy of a machine's /sys, /proc, /etc or /dev. In any
// other folder the checks would find nothing, and the report would look as if the machine had no
// faults.
Result<void> check_root(const options::Call& call);

}  // namespace toprun::cli
