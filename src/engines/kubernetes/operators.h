#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// The operators whose jobs toprun writes, the one that is preferred first: a PyTorchJob can be
// elastic, and a TrainJob is given its runtime by the site.
enum class Operator { pytorchjob, trainjob, jobset };

std::string_view kind_of(Operator which);  // "PyTorchJob"
// Job::number of a job of this operator's.
std::string record_of(Operator which, std::string_view name);

// Those that are in what `kubectl api-resources -o name` prints, the preferred one first. Pure.
std::vector<Operator> installed(std::string_view api_resources);

// Those that the cluster has, by kubectl; at least one. Blocks `limit` at most. Error: it has none,
// or gives no answer.
Result<std::vector<Operator>> find_operators(const Environment& environment,
                                             std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
