#pragma once

#include <vector>

#include "base/error.h"
#include "plan/job.h"
#include "rendezvous/messages.h"
#include "topology/source.h"

namespace toprun::node {

// Where the members' nodes sit, by all that they told and what the engine and files say; an empty
// map where that matters to nobody. Blocks while files are read and programs run.
Result<topology::Map> locate(const std::vector<rendezvous::Join>& members, const plan::Job& job);

}  // namespace toprun::node
