#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/process/command.h"
#include "base/text/error.h"

namespace toprun::process {

inline constexpr std::size_t max_reported_bytes = 64u << 10;  // how much of each stream is kept

// Passes input to a command. Like run() in base/process/command.h, but the output matters only if
// the command fails. So only the beginning of each stream is kept. Processes that the command
// leaves running with its output open do not delay the return.
Result<Finished> tell(const std::vector<std::string>& argv, const Environment& environment,
                      std::chrono::milliseconds timeout, std::string_view input);

// An in-memory file with this text, closed on exec. Unlike a pipe, such a file never blocks the
// writer.
Result<Fd> memory_file(std::string_view text, const char* name = "text");

}  // namespace toprun::process
