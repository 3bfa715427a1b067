#pragma once

#include <cstddef>

namespace toprun {

// What to do where no more can be opened (EMFILE).
inline constexpr const char* more_open_files = "raise the limit on open files (ulimit -n)";

// Raises this process's limit of open files to what the administrator allows, whatever the shell
// that it came from had; returns it.
std::size_t raise_open_files();

}  // namespace toprun
