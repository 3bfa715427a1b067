#pragma once

#include <optional>
#include <string>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "run/model/exit.h"

namespace toprun::worker {

// Parses an error.json. The time in the file has only whole seconds; `modified`, the file's
// modification time, makes the time more precise. The result is limited to the time from `started`
// to now. Null if the text is not an error file.
std::optional<model::ErrorFile> parse_error_file(const std::string& text, const std::string& path,
                                                 WallTime modified, SteadyTime started);

// The text of the launcher's own error file for a failed worker: the worker's error file plus the
// worker's exit code (-N for signal N). torchrun's dump_error_file
// (torch/distributed/elastic/multiprocessing/errors/error_handler.py) adds the exit code in the
// same way. An error if the text is not JSON.
Result<std::string> error_file_for_launcher(const std::string& text, const model::WorkerExit& exit);

// Replaces the file `to` with error_file_for_launcher() of the file `from`.
Result<void> copy_error_file(const std::string& from, const model::WorkerExit& exit,
                             const std::string& to);

}  // namespace toprun::worker
