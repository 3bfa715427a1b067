#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Published results for an all_reduce between GPUs of one kind, for comparison. A published result
// is not a limit.
struct Anchor {
  std::string_view gpu;  // a word of the driver's GPU name: "H100" for "NVIDIA H100 80GB HBM3"
  std::size_t gpus_per_node = 0;
  std::size_t fewest_nodes = 1;
  std::size_t most_nodes = 1;
  double low = 0;  // busbw range for large sizes, GB/s
  double high = 0;
  std::string_view with;    // the connection between the GPUs
  std::string_view source;  // the project that measured this result
};

// The smallest size at which a series is compared with an anchor.
inline constexpr std::uint64_t smallest_anchored = 1ULL << 30;

// The anchor for one series of a report. Null: the GPUs are of different kinds, or no result is
// known for the collective, for these GPUs, or for the numbers of GPUs and nodes.
const Anchor* anchor_of(const Report& report, const Series& series);

// A sentence about an anchor: "366 to 482 GB/s is usual for 8 × H100 on 1 node (NVLink, the upper
// end with NVLS; nccl-tests#212)".
std::string anchor_sentence(const Anchor& anchor, const Series& series);

}  // namespace toprun::bench
