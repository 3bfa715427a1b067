#pragma once

#include "bench/measure/backend.h"

namespace toprun::libgloo {

// Opens Gloo's collectives between buffers in host memory. all_reduce uses Gloo's ring algorithm,
// the other collectives use Gloo's defaults.
Result<measure::Opened> open_gloo(measure::Group& group, const Environment& environment);

}  // namespace toprun::libgloo
