#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// The operators for which toprun writes jobs, most preferred first. A PyTorchJob can be elastic. A
// TrainJob uses a runtime that the site provides.
enum class Operator { pytorchjob, trainjob, jobset };

std::string_view kind_of(Operator which);  // "PyTorchJob"
// Job::number for a job of this operator.
std::string record_of(Operator which, std::string_view name);

// The operators in the output of `kubectl api-resources -o name`, most preferred first. Pure
// function.
std::vector<Operator> installed(std::string_view api_resources);

// The cluster's operators, at least one, by a kubectl query. Blocks for at most `limit`. Error:
// there is no operator, or no answer.
Result<std::vector<Operator>> find_operators(const Environment& environment,
                                             std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
