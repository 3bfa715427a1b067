#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/error.h"
#include "cli/pods/option_reader.h"
#include "engines/kubernetes/workload.h"

namespace toprun::pods {

// Where pods may go and in whose turn, as --queue, --scheduler, --priority-class, --node-pool,
// --node-selector, --toleration and --required-/--preferred-topology-key say it, in no engine's
// words. Pure. Errors (exit 2): a value that Kubernetes would not take.
Result<engines::kubernetes::Placement> placement_of(const OptionReader& reader);

// "key" and "value" of "key=value"; the value may hold anything.
Result<std::pair<std::string, std::string>> parse_pair(const options::Given& given);

// Those of all values of an option, each once. Error (exit 2): a key has two values, against
// `rule`.
using Pairs = std::vector<std::pair<std::string, std::string>>;
Result<Pairs> pairs_of(std::span<const options::Given> all, std::string_view rule);

// How messages name the value that says this pair, which is one of `all`.
std::string label_of(std::span<const options::Given> all, const Pairs::value_type& pair);

// "nvidia.com/gpu", "nvidia.com/gpu:NoSchedule", "team=vision:NoExecute".
Result<engines::kubernetes::Toleration> parse_toleration(const options::Given& given);

}  // namespace toprun::pods
