#pragma once

#include <cstddef>

namespace toprun {

// Raises this process's limit of open files to what the administrator allows, whatever the shell
// that it came from had; returns it.
std::size_t raise_open_files();

}  // namespace toprun
