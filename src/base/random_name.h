#pragma once

#include <cstddef>
#include <string>

namespace toprun {

// Letters and digits that nobody can guess, for the names of files and folders.
std::string random_name(std::size_t letters = 8);

}  // namespace toprun
