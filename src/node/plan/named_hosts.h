#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "engines/allocation.h"
#include "node/plan/options.h"

namespace toprun::plan {

// The hosts from --hosts or --hostfile, none if neither was given; reads the file. `notes` receives
// warnings about it.
Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes);

}  // namespace toprun::plan
