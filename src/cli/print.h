#pragma once

#include <string_view>

namespace toprun::cli {

// Data to stdout. Returns the exit code: 0, or 1 after saying why it could not be written.
int print(std::string_view text);

}  // namespace toprun::cli
