#pragma once

#include "bench/gpu/device.h"
#include "bench/measure/backend.h"

namespace toprun::gpu {

// Opens a backend that runs collectives of NCCL or RCCL between buffers in the memory of each
// rank's GPU. The GPU measures the times.
//
// Errors: those of Device and Nccl, or different versions of the library on the ranks (the error
// names the versions).
Result<measure::Opened> open_nccl(Vendor vendor, measure::Group& group,
                                  const Environment& environment);

}  // namespace toprun::gpu
