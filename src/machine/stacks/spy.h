#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/stacks/frame.h"

namespace toprun::stacks {

// Python frames by the kernel's thread id, innermost first.
using StacksByThread = std::map<int, std::vector<Frame>>;

// Parses the output of `py-spy dump --json` (py-spy 0.3 and 0.4): a list of threads with
// os_thread_id and frames with name, filename, line.
Result<StacksByThread> parse_spy(std::string_view json);

// Runs py-spy if it is in PATH. With --nonblocking, py-spy does not stop the process.
Result<StacksByThread> ask_spy(pid_t pid, const Environment& environment,
                               std::chrono::milliseconds limit);

}  // namespace toprun::stacks
