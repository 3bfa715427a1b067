#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/options.h"
#include "scheduler/allocation.h"

namespace toprun::plan {

// The hosts from --hosts or --hostfile, none if neither was given; reads the file. `notes` receives
// warnings about it.
Result<std::vector<scheduler::Node>> named_hosts(const Options& options,
                                                 std::vector<std::string>& notes);

}  // namespace toprun::plan
