#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::process {

// Runs a command to its end, as long as it takes, in this process group, with nothing to read. Each
// line that it writes to stdout or stderr, which are one to it, is given to `on_line` as it comes,
// without its end; a line above 64 KiB comes in parts. Returns its exit code, 128+n if signal n
// ended it. Error: there is no such program.
Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line);

}  // namespace toprun::process
