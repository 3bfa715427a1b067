#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "engines/allocation.h"
#include "node/plan/options.h"

namespace toprun::plan {

// The hosts from --hosts or --hostfile; empty if neither option was given. Reads the file. `notes`
// receives warnings about the file.
Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes);

}  // namespace toprun::plan
