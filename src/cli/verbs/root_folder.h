#pragma once

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// Whether --root, where it is given, names a folder with a copy of a machine's /sys, /proc, /etc or
// /dev. Nothing would be found in another, and that would read as if all were well.
Result<void> check_root(const options::Call& call);

}  // namespace toprun::cli
