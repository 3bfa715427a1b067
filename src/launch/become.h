#pragma once

#include "agent/inherited.h"
#include "agent/workers.h"
#include "base/error.h"

namespace toprun::launch {

// Turns this process into the rank that the plan describes: its process id stays, and the
// descriptor `lifeline` stays open, so that the root sees when it ends. Returns only the reason why
// it could not.
Error become(const agent::WorkerPlan& plan, const agent::Inherited& inherited, int lifeline);

}  // namespace toprun::launch
