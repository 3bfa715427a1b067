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
  std::vector<std::string> notes;  // one line for each given option that has no effect
};

// Parses the options of `toprun [run]`. The command line overrides variables, and variables
// override defaults. torchrun's options have variables PET_*. toprun's own options have variables
// TOPRUN_*, which are ignored if toprun is called as torchrun. If an option is repeated, the last
// value counts. An empty variable counts as not set. `is_file` returns whether --topology names a
// file.
//
// run_options() and split() use the table of flags.h and no parsing library. No library supports
// argparse's rules for abbreviations, for words that can be values, and for arguments of the
// script. A library would also need a second list of all flags.
//
// Errors have exit_usage. Each error contains the option or variable, the value, and what is
// allowed.
Result<RunOptions> run_options(const Split& split, const std::vector<std::string>& argv,
                               const Environment& environment, const IsFile& is_file);

// Parses only --modules, --conda, --venv and -e, in the same way as run_options().
Result<plan::Activation> activation_options(const Split& split, const Environment& environment);

}  // namespace toprun::options
