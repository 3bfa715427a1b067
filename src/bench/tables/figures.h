#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Published all_reduce results for one model of GPU, with which a report is compared. Measured
// results can be better.
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

// The smallest size at which a series is compared with a published result.
inline constexpr std::uint64_t smallest_anchored = 1ULL << 30;

// Returns the published result to compare with one series of a report. Null if the GPUs are of
// different kinds, or no result is known for the collective, for these GPUs, or for the numbers of
// GPUs and nodes.
const Anchor* anchor_of(const Report& report, const Series& series);

// Describes a published result in a sentence: "366 to 482 GB/s is usual for 8 × H100 on 1 node
// (NVLink, the upper end with NVLS; nccl-tests#212)".
std::string anchor_sentence(const Anchor& anchor, const Series& series);

// Converts algbw or busbw, in GB/s (1e9 bytes), to the unit of a network's line rate, Gbps (1e9
// bits).
constexpr double gbps_of(double gigabytes_per_second) {
  return gigabytes_per_second * 8;
}

// Computes the side's algbw and busbw from its mean time. Without a time, both bandwidths are 0.
void set_bandwidths(Side& side, Collective collective, std::uint64_t bytes, std::size_t ranks);

// Returns the wire floor: the minimum rate that one node's network must carry in one direction, in
// GB/s, to reach this algbw. wire_share() compares this rate with the line rate. Assumes that the
// ranks are spread evenly over the nodes. With n ranks on k nodes, a node has n/k ranks. For
// all_reduce, all_gather and reduce_scatter, the minimum per rank is busbw·(k-1)/(n-1), as in a
// ring. 0 for one node or a barrier.
double wire_floor(Collective collective, double algbw, std::size_t nodes, std::size_t ranks);

// Returns wire_floor() as a share of the network's line rate. Unset for one node or an unknown line
// rate.
std::optional<double> wire_share(const Series& series, const Side& side);

// Returns the row's side to report: the out-of-place result if it was measured, otherwise the
// in-place result. Null: neither was measured.
const Side* side_of(const Row& row);

// The result to report for a sweep over sizes: the busbw of the largest size. The mean over all
// sizes, which nccl-tests prints, depends mostly on the small sizes. From `from_bytes` on, every
// busbw is within plateau_tolerance of the reported busbw.
inline constexpr double plateau_tolerance = 0.05;
struct Plateau {
  Row row;
  std::uint64_t from_bytes = 0;
  // Whether the second largest size's busbw is also within plateau_tolerance of the reported busbw.
  // If not, measure larger sizes.
  bool is_level = false;
};
std::optional<Plateau> plateau_of(const Series& series);  // unset: no rows were measured

// Below this busbw between nodes, sharding a model over all nodes costs more than it saves.
inline constexpr double usual_sharding_limit_gbps = 400;
// The sharding limit applies only to messages of at least this size.
inline constexpr std::uint64_t smallest_advised = std::uint64_t{256} << 20;

// Returns remarks on the results of a series, as whole sentences without a full stop. The remarks
// explain whether a result that seems impossible is really impossible, and what to do about a slow
// network. For a series on one node, Series::limit_gbps is the limit of the node's bus.
std::vector<std::string> remarks(const Series& series,
                                 double sharding_limit_gbps = usual_sharding_limit_gbps);

}  // namespace toprun::bench
