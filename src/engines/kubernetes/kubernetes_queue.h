#pragma once

#include <memory>

#include "engines/queue.h"

namespace toprun::engines {

// PyTorchJobs, TrainJobs and JobSets of one namespace, through kubectl. The namespace is
// TOPRUN_NAMESPACE, else the namespace of kubectl's context. nullptr: kubectl is not in PATH.
Result<std::unique_ptr<Queue>> kubernetes_queue(const Environment& environment);

}  // namespace toprun::engines
