#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/measure/element.h"
#include "bench/measure/schedule.h"
#include "bench/tables/collective.h"

namespace toprun::measure {

// Elements that repeat after a short period.
class Repeating {
 public:
  Repeating(Type type, std::vector<double> period);

  // Writes `bytes` of the sequence, from element `first` on.
  void fill(std::byte* target, std::size_t first, std::size_t bytes) const;
  // How many elements are not those of the sequence from element `first` on.
  std::uint64_t wrong(const std::byte* data, std::size_t first, std::size_t bytes) const;

 private:
  Type type_;
  std::size_t element_;
  std::size_t period_;
  std::vector<std::byte> block_;  // several periods
};

// Data whose result is known. Reductions get small numbers, and only few of them differ from the
// neutral one, so that the result is exact in every type and at any number of ranks.
class Check {
 public:
  Check(bench::Collective collective, Type type, Op op, const RingPosition& ring);

  // Writes what this position sends.
  void fill(const Buffers& buffers) const;
  // Elements that are wrong in what it received.
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
