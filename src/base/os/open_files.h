#pragma once

#include <cstddef>

namespace toprun {

// The advice for EMFILE: the process has reached its limit of open files.
inline constexpr const char* more_open_files = "raise the limit on open files (ulimit -n)";

// Raises this process's soft limit on open files to the hard limit and returns it.
std::size_t raise_open_files();

}  // namespace toprun
