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

// What nccl-tests defines for each. S: its size column in bytes, n: ranks.
struct CollectiveFacts {
  Collective collective;
  std::string_view name;
  bool reduces;        // takes --op
  bool has_root;       // takes --root
  bool size_is_total;  // S is that of all ranks together: count · n elements
};
std::span<const CollectiveFacts> collectives();
const CollectiveFacts& facts_of(Collective collective);
std::optional<Collective> find_collective(std::string_view name);

// busbw / algbw: 2(n-1)/n for all_reduce, (n-1)/n for those whose S is that of all ranks together,
// 1 for the rest; 0 for a barrier, which moves nothing. n = 1: the same formulas, so 1 for
// broadcast, reduce and sendrecv and 0 otherwise, as nccl-tests prints. n = 0 (not known): 0.
double bus_factor(Collective collective, std::size_t ranks);

// S as nccl-tests prints it for -b/-e's bytes: whole elements of this width; where S is that of all
// ranks together, rounded down so that each rank's part is the same multiple of 16 bytes. 0: too
// small for one such part each.
std::uint64_t rounded_size(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                           std::size_t ranks);

}  // namespace toprun::bench
