#pragma once

#include "bench/measure/backend.h"

namespace toprun::libgloo {

// Opens Gloo's collectives between buffers in host memory. all_reduce uses the ring algorithm; the
// others use Gloo's own functions. Error (exit_usage): reduce_scatter, which Gloo lacks.
Result<measure::Opened> open_gloo(measure::Group& group, const Environment& environment);

}  // namespace toprun::libgloo
