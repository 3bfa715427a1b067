#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::scheduler::kubernetes {

// The operators whose jobs toprun writes, the one that is preferred first: a PyTorchJob can be
// elastic, and a TrainJob is given its runtime by the site.
enum class Operator { pytorchjob, trainjob, jobset };

std::string_view kind_of(Operator which);  // "PyTorchJob"

// The first one that is in what `kubectl api-resources -o name` prints. Pure.
std::optional<Operator> installed(std::string_view api_resources);

// The first one that the cluster has, by kubectl. Blocks `limit` at most. Error: it has none, or
// gives no answer.
Result<Operator> find_operator(const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::scheduler::kubernetes
