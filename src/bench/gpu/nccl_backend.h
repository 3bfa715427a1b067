#pragma once

#include "bench/gpu/device.h"
#include "bench/measure/backend.h"

namespace toprun::gpu {

// Collectives of NCCL or RCCL between buffers in the memory of each rank's GPU. The GPU measures
// the times.
//
// Errors: the errors of Device and Nccl. Different versions of the library on the ranks are also an
// error; this error names the versions.
Result<measure::Opened> open_nccl(Vendor vendor, measure::Group& group,
                                  const Environment& environment);

}  // namespace toprun::gpu
