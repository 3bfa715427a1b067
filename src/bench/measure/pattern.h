#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/measure/element.h"
#include "bench/measure/schedule.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// A sequence of elements that repeats after a short period.
class Repeating {
 public:
  Repeating(Type type, std::vector<double> period);

  // Writes `bytes` bytes of the sequence, starting at element `first`.
  void fill(std::byte* target, std::size_t first, std::size_t bytes) const;
  // Returns the number of elements that differ from the sequence that starts at element `first`.
  std::uint64_t wrong(const std::byte* data, std::size_t first, std::size_t bytes) const;

 private:
  Type type_;
  std::size_t element_;
  std::size_t period_;
  std::vector<std::byte> block_;  // several periods
};

// Test data for which the correct result is known. For reductions, the numbers are small, and only
// a few differ from the operation's neutral element (0 for a sum). So the result of a reduction is
// exact for every type and any number of ranks.
class Check {
 public:
  Check(bench::Collective collective, Type type, Op op, const RingPosition& ring);

  // Fills the send buffer of the rank at this position in the ring.
  void fill(const Buffers& buffers) const;
  // Returns the number of wrong elements in the data that this rank received.
  std::uint64_t wrong(const Buffers& buffers) const;

 private:
  Repeating sent_by(std::size_t position) const;
  Repeating reduced() const;

  bench::Collective collective_;
  Type type_;
  Op op_;
  RingPosition ring_;
};

}  // namespace toprun::measure
