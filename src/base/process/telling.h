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

inline constexpr std::size_t max_told_bytes = 64u << 10;  // that are kept of each stream

// Tells a command something: as run() of base/process/command.h, but its output matters only if it
// fails. So what it leaves running with its output open does not delay the end, and only the
// beginnings are kept.
Result<Finished> tell(const std::vector<std::string>& argv, const Environment& environment,
                      std::chrono::milliseconds timeout, std::string_view input);

// A file in memory, closed on exec, with this text. Unlike a pipe, it never blocks the writer.
Result<Fd> memory_file(std::string_view text);

}  // namespace toprun::process
