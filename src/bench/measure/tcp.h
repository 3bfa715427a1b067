#pragma once

#include "bench/measure/backend.h"

namespace toprun::measure {

// Plain sockets between buffers in host memory, striped over Request::stripes connections.
Result<Opened> open_tcp(Group& group, const Environment& environment);

}  // namespace toprun::measure
