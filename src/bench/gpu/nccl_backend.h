#pragma once

#include "bench/gpu/device.h"
#include "bench/measure/backend.h"

namespace toprun::gpu {

// Collectives of NCCL or RCCL between buffers in the memory of each rank's GPU. The GPU measures
// the times.
//
// Errors: the errors of Device and Nccl. It is also an error if ranks have different versions of
// the library; this error names the versions.
Result<measure::Opened> open_nccl(Vendor vendor, measure::Group& group,
                                  const Environment& environment);

}  // namespace toprun::gpu
