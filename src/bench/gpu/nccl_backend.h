#pragma once

#include "bench/gpu/device.h"
#include "bench/measure/backend.h"

namespace toprun::gpu {

// Collectives of NCCL or RCCL between buffers in the memory of each rank's GPU. Times are the GPU's
// own.
//
// Errors of opening, beside those of Device and Nccl: ranks with different versions, which are
// named.
Result<measure::Opened> open_nccl(Vendor vendor, measure::Group& group,
                                  const Environment& environment);

}  // namespace toprun::gpu
