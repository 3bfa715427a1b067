#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::process {

// Runs a command to its end without a time limit, in this process group, with an empty stdin.
// Passes each line of its stdout and stderr, which are one pipe, to `on_line` at once and without
// its line end; a line longer than 64 KiB comes in parts. Returns its exit code, 128+n if signal n
// ended it. Error: there is no such program.
Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
