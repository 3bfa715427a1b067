#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// algbw and busbw in GB/s (1e9 bytes); a network's line rate is in Gbps (1e9 bits).
constexpr double gbps_of(double gigabytes_per_second) {
  return gigabytes_per_second * 8;
}

// Sets the side's algbw and busbw from its mean time; both are 0 without a time.
void set_bandwidths(Side& side, Collective collective, std::uint64_t bytes, std::size_t ranks);

// What one node's network carries at least in one direction, in GB/s, while S moves at algbw and
// the ranks are spread evenly: the figure to hold against the line rate. For all_reduce, all_gather
// and reduce_scatter that is a ring's busbw·(k-1)/(n-1) per rank and n/k ranks a node (k: nodes, n:
// ranks). 0 on one node and for a barrier.
double wire_floor(Collective collective, double algbw, std::size_t nodes, std::size_t ranks);

// The wire floor's share of the line rate; unset: one node, or an unknown line rate.
std::optional<double> wire_share(const Series& series, const Side& side);

// The side of a row to report: out of place if measured, otherwise in place.
const Side* side_of(const Row& row);

// The figure to report for a sweep: that of its largest size. The mean over all sizes, which
// nccl-tests prints, mostly reflects the small sizes. `from_bytes` is the smallest size from which
// on every busbw is within plateau_tolerance of that figure.
inline constexpr double plateau_tolerance = 0.05;
struct Plateau {
  Row row;
  std::uint64_t from_bytes = 0;
  // Whether the size before the largest is within the plateau. If not, measure larger sizes.
  bool is_level = false;
};
std::optional<Plateau> plateau_of(const Series& series);  // unset: no row was measured

// Below this busbw between nodes, sharding a model over all of them costs more than it saves.
inline constexpr double usual_sharding_limit_gbps = 400;
// … if the measured messages have at least this size.
inline constexpr std::uint64_t smallest_advised = std::uint64_t{256} << 20;

// Whole sentences without a full stop. They explain whether a figure that looks impossible really
// is, and what to do about a slow network. For a series on one node, `limit_gbps` is the limit of
// the node's bus.
std::vector<std::string> remarks(const Series& series,
                                 double sharding_limit_gbps = usual_sharding_limit_gbps);

}  // namespace toprun::bench
