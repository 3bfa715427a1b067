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

// What `py-spy dump --json` prints (py-spy 0.3 and 0.4): a list of threads with os_thread_id and
// frames of name, filename, line.
Result<StacksByThread> parse_spy(std::string_view json);

// Asks py-spy where PATH has it; --nonblocking: the process is not stopped.
Result<StacksByThread> ask_spy(pid_t pid, const Environment& environment,
                               std::chrono::milliseconds limit);

}  // namespace toprun::stacks
