#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::process {

// Runs a command to its end without a time limit, in this process group, with an empty stdin. Its
// stdout and stderr are the same pipe. Each line is passed to `on_line` at once, without its line
// end. A line longer than 64 KiB is passed in parts. Returns the exit code, 128+n if signal n ended
// it. Error: the program does not exist.
Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
