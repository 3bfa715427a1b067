#pragma once

#include "bench/measure/backend.h"

namespace toprun::libgloo {

// Gloo's collectives between buffers in host memory: all_reduce as a ring, the others as Gloo has
// them. Error (exit_usage): reduce_scatter, which Gloo lacks.
Result<measure::Opened> open_gloo(measure::Group& group, const Environment& environment);

}  // namespace toprun::libgloo
