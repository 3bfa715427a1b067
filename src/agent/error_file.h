#pragma once

#include <string>

#include "agent/exit.h"
#include "base/error.h"

namespace toprun::agent {

// What the launcher's own error file says of a worker that failed: the text of the worker's, with
// the exit code (-N for signal N) that the worker could not know, as torchrun's dump_error_file
// (torch/distributed/elastic/multiprocessing/errors/error_handler.py) adds it. An error if the text
// is not JSON.
Result<std::string> error_file_for_launcher(const std::string& text, const WorkerExit& exit);

// Replaces the file `to` by error_file_for_launcher() of the file `from`.
Result<void> copy_error_file(const std::string& from, const WorkerExit& exit,
                             const std::string& to);

}  // namespace toprun::agent
