#pragma once

#include <string>

#include "agent/exit.h"
#include "base/error.h"

namespace toprun::agent {

// The text of the launcher's own error file for a failed worker: the worker's error file plus the
// exit code (-N for signal N), which the worker could not know. torchrun's dump_error_file
// (torch/distributed/elastic/multiprocessing/errors/error_handler.py) adds it in the same way. An
// error if the text is not JSON.
Result<std::string> error_file_for_launcher(const std::string& text, const WorkerExit& exit);

// Replaces the file `to` with error_file_for_launcher() of the file `from`.
Result<void> copy_error_file(const std::string& from, const WorkerExit& exit,
                             const std::string& to);

}  // namespace toprun::agent
