#pragma once

#include <cstddef>
#include <string>

#include "run/model/launch.h"

namespace toprun::report {

// "toprun: 12 s, 3 of 4 nodes have joined, not n3", cut to `columns` columns (0: not cut).
std::string launch_line(const model::Launch& launch, std::size_t columns);

}  // namespace toprun::report
