#pragma once

#include <cstddef>
#include <string>

namespace toprun {

// Random letters and digits that cannot be guessed, for the names of files and folders.
std::string random_name(std::size_t letters = 8);

}  // namespace toprun
