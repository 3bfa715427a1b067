#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace toprun::bench {

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  sendrecv,
  gather,
  scatter,
  barrier,
};

// The properties that nccl-tests defines for a collective. S: the size column in bytes, n: ranks.
struct CollectiveFacts {
  Collective collective;
  std::string_view name;
  bool reduces;        // accepts --op
  bool has_root;       // accepts --root
  bool size_is_total;  // S is the total of all ranks: count · n elements
};
std::span<const CollectiveFacts> collectives();
const CollectiveFacts& facts_of(Collective collective);
std::optional<Collective> find_collective(std::string_view name);

// The ratio busbw / algbw: 2(n-1)/n for all_reduce, (n-1)/n if `size_is_total`, otherwise 1. The
// ratio for a barrier is 0, because a barrier moves no data. The formulas apply for n = 1 too, as
// in nccl-tests: for n = 1, the result is 1 for broadcast, reduce and sendrecv, and 0 for the other
// collectives. For n = 0 (unknown), the result is 0.
double bus_factor(Collective collective, std::size_t ranks);

// The S that nccl-tests prints for a size from -b or -e. S is rounded down to whole elements. If
// `size_is_total`, S is also rounded down so that every rank's part is the same multiple of 16
// bytes. 0: the size is too small for one part per rank.
std::uint64_t rounded_size(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                           std::size_t ranks);

}  // namespace toprun::bench
