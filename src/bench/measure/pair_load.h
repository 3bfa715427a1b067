#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace toprun::measure {

struct PairTerms {
  std::uint64_t bytes = 8u << 20;  // of one transfer in one direction; a slow pair's are shorter
  std::size_t transfers = 5;       // one directly after the other; more for `lasts`
  std::chrono::milliseconds limit{10'000};  // the maximum time without a byte from the other rank
};

// The data that both ranks of a pair send each other next.
struct PairLoad {
  std::uint64_t bytes = 0;  // of one transfer
  std::uint64_t times = 0;  // transfers directly after one another; 0: one probe

  bool is_probe() const { return times == 0; }
};

// Probes grow until one takes long enough to tell the pace. A slow pair is then done in about a
// second: a slow rank must not be taken for one that hangs.
PairLoad first_load(const PairTerms& terms);
// The load after a probe. `took_us`: the time of the slower direction.
PairLoad next_load(const PairTerms& terms, const PairLoad& probe, double took_us,
                   std::chrono::milliseconds lasts);

}  // namespace toprun::measure
