#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun config show`: what a verb would take from files and variables, and from where.
Result<int> run_config_show(const options::Call& call);

}  // namespace toprun::cli
