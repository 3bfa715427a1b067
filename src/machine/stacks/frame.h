#pragma once

#include <string>
#include <string_view>

namespace toprun::stacks {

// A Python function that has been called and has not returned.
struct Frame {
  std::string function;  // co_name, as in a traceback
  std::string file;      // co_filename
  int line = 0;          // 0: the instruction has no line

  bool operator==(const Frame&) const = default;
};

// Whether a Python frame's file belongs to Python or to an installed package. False for the user's
// program.
bool is_of_library(std::string_view file);

}  // namespace toprun::stacks
