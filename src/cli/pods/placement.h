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

// Parses the options for scheduling pods: --queue, --scheduler, --priority-class, --node-pool,
// --node-selector, --toleration and --required-/--preferred-topology-key. The result is the same
// for all engines that run pods. Pure. Errors (exit 2): a value that Kubernetes would refuse.
Result<engines::kubernetes::Placement> placement_of(const OptionReader& reader);

// Splits "key=value" into "key" and "value". The value may contain any characters.
Result<std::pair<std::string, std::string>> parse_pair(const options::Argument& argument);

using Pairs = std::vector<std::pair<std::string, std::string>>;
// Returns the pairs from all values of an option, without duplicates. Error (exit 2): a key has two
// different values; `rule` is part of the message.
Result<Pairs> pairs_of(std::span<const options::Argument> all, std::string_view rule);

// Returns the label (Argument::label()) of the value that contains this pair, for error messages.
std::string label_of(std::span<const options::Argument> all, const Pairs::value_type& pair);

// Parses "nvidia.com/gpu", "nvidia.com/gpu:NoSchedule", "team=vision:NoExecute".
Result<engines::kubernetes::Toleration> parse_toleration(const options::Argument& argument);

}  // namespace toprun::pods
