#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/options/run_draft.h"
#include "cli/options/split.h"
#include "node/plan/options.h"

namespace toprun::options {

struct RunOptions {
  plan::Options options;
  std::vector<std::string> notes;  // one line each: what was given and has no effect
};

// The options of `toprun [run]`: the command line before PET_* (of our own options: TOPRUN_*, which
// a toprun called torchrun does not read) before the defaults; of an option given twice the last
// counts. A variable set to nothing counts as not set. `is_file` says whether --topology names a
// file.
//
// The command line is read by this and split() from one table, without a parsing library:
// argparse's rules (abbreviations, what may be a value, the rest being the script's) fit none, and
// the flags would then stand in two places.
//
// Errors have exit_usage and name option or variable, value, and what is allowed.
Result<RunOptions> run_options(const Split& split, const std::vector<std::string>& argv,
                               const Environment& environment, const IsFile& is_file);

// --modules, --conda, --venv and -e alone, as run_options() reads them.
Result<plan::Activation> activation_options(const Split& split, const Environment& environment);

}  // namespace toprun::options
