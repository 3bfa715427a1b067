#pragma once

#include "bench/measure/backend.h"

namespace toprun::libgloo {

// Opens Gloo's collectives between buffers in host memory. all_reduce uses the ring algorithm; the
// others use Gloo's own functions. Error (exit_usage): reduce_scatter, because Gloo does not have
// it.
Result<measure::Opened> open_gloo(measure::Group& group, const Environment& environment);

}  // namespace toprun::libgloo
