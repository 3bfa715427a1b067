#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "pods/option_reader.h"
#include "scheduler/kubernetes/workload.h"

namespace toprun::pods {

// Where pods may go and in whose turn, as --queue, --scheduler, --priority-class, --node-pool,
// --node-selector, --toleration and --required-/--preferred-topology-key say it, in no engine's
// words. Pure. Errors (exit 2): a value that Kubernetes would not take.
Result<scheduler::kubernetes::Placement> placement_of(const OptionReader& reader);

// "key" and "value" of "key=value"; the value may hold anything.
Result<std::pair<std::string, std::string>> parse_pair(const options::Given& given);

// "nvidia.com/gpu", "nvidia.com/gpu:NoSchedule", "team=vision:NoExecute".
Result<scheduler::kubernetes::Toleration> parse_toleration(const options::Given& given);

}  // namespace toprun::pods
