#pragma once

#include <vector>

#include "base/text/error.h"
#include "decide/topology/source.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// The locations of the members' nodes, from the members' evidence, the engine and files. The map is
// empty if neither the order nor the workers need locations. Blocks while locate() reads files and
// runs programs.
Result<topology::Map> locate(const std::vector<model::Join>& members, const plan::Job& job);

}  // namespace toprun::probes
