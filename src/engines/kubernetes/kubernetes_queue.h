#pragma once

#include <memory>

#include "engines/queue.h"

namespace toprun::engines {

// Returns the queue of one namespace's PyTorchJobs, TrainJobs and JobSets, read with kubectl. The
// namespace is TOPRUN_NAMESPACE, else the namespace of kubectl's context. nullptr: kubectl is not
// in PATH.
Result<std::unique_ptr<Queue>> kubernetes_queue(const Environment& environment);

}  // namespace toprun::engines
