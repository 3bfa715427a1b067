#pragma once

#include <cstddef>
#include <string>

#include "model/launch.h"

namespace toprun::view {

// "toprun: 12 s, 3 of 4 nodes have joined, not n3", in at most `columns` columns (0: whole).
std::string launch_line(const model::Launch& launch, std::size_t columns);

}  // namespace toprun::view
