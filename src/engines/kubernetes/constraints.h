#pragma once

#include "base/text/error.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// Limits of a TrainJob: maxItems and maxLength in trainer.kubeflow.org_trainjobs.yaml. A longer
// command continues in `args`, which has the same limit. If a command is too long for both, it must
// be packed first (node/plan/packed_words.h).
inline constexpr std::size_t most_command_words = 128;
inline constexpr std::size_t most_words_of_a_trainjob = 2 * most_command_words;
inline constexpr std::size_t most_variables = 128;
inline constexpr std::size_t longest_image = 500;

// Whether this operator can run the job as it is. Pure. Errors (exit 2), each with the option and
// what to do:
//   TrainJob           a limit above is exceeded; a variable is one of the five that the TrainJob's
//                      webhook refuses (trainer, pkg/constants: TorchRunReservedEnvNames);
//                      runtimePatches have no field for a setting (trainjob_types.go,
//                      PodSpecPatch): working directory, network, priority, scheduler, variables of
//                      a whole Secret
//   restricted pods    root, the machine's network, locked memory
//   JobSet, TrainJob   a number of nodes that may change during the run
//   KAI, Run:AI        more than one pool, because the pool of a node or pod is one label
Result<void> check(Operator which, const Workload& job);

}  // namespace toprun::engines::kubernetes
