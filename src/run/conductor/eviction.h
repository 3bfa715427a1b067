#pragma once

#include <optional>
#include <string>

#include "run/model/exit.h"

namespace toprun::run {

// Returns the error text of a broken machine that ended this rank, such as "uncorrectable ECC error
// encountered". nullopt: the failure may be the program's own. The texts are those of
// cudaGetErrorString() and nvmlErrorString() for errors that no program can cause. An error such as
// "unspecified launch failure" is not among them: a defective kernel causes it as well, and then on
// the same node in each attempt, because ranks stay on their nodes.
std::optional<std::string> machine_fault(const model::WorkerExit& exit);

}  // namespace toprun::run
