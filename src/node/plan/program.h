#pragma once

#include "base/os/environment.h"
#include "base/text/error.h"
#include "node/plan/options.h"

namespace toprun::plan {

// Whether the program in the options exists, as far as files show. A script must exist and, if it
// is a directory, contain a __main__.py. A program (--no-python) must be in PATH and executable.
// Modules are not checked, because only Python can find them. Errors have exit_usage and name path
// and directory.
Result<void> check_program(const Options& options, const Environment& environment);

}  // namespace toprun::plan
