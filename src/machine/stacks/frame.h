#pragma once

#include <string>

namespace toprun::stacks {

// A function of Python that has been called and has not returned.
struct Frame {
  std::string function;  // co_name, as a traceback has it
  std::string file;      // co_filename
  int line = 0;          // 0: the instruction has none

  bool operator==(const Frame&) const = default;
};

}  // namespace toprun::stacks
