#pragma once

#include <string>

namespace toprun::stacks {

// A Python function that has been called and has not returned.
struct Frame {
  std::string function;  // co_name, as in a traceback
  std::string file;      // co_filename
  int line = 0;          // 0: the instruction has no line

  bool operator==(const Frame&) const = default;
};

}  // namespace toprun::stacks
