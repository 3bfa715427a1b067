#pragma once

#include "bench/measure/backend.h"

namespace toprun::measure {

// Opens a backend that moves data between buffers in host memory over plain TCP sockets. The data
// is divided among Request::stripes connections.
Result<Opened> open_tcp(Group& group, const Environment& environment);

}  // namespace toprun::measure
