#pragma once

#include <string_view>

namespace toprun::stacks {

// Whether the file of a Python frame belongs to Python or to an installed package, and not to the
// user's program.
bool is_of_library(std::string_view file);

}  // namespace toprun::stacks
