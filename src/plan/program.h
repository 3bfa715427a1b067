#pragma once

#include "base/environment.h"
#include "base/error.h"
#include "plan/options.h"

namespace toprun::plan {

// Whether there is what the options say to run, as far as files tell: a script must be there and be
// no directory without a __main__.py, a program (--no-python) must be found in PATH and be
// executable; a module is Python's to find. Errors have exit_usage and name path and directory.
Result<void> check_program(const Options& options, const Environment& environment);

}  // namespace toprun::plan
