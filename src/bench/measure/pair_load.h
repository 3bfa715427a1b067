#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace toprun::measure {

struct PairTerms {
  std::uint64_t bytes = 8u << 20;  // size of one transfer in one direction; a slow pair transfers
                                   // fewer bytes
  std::size_t transfers = 5;       // number of consecutive transfers; there are more transfers if
                                   // these take less than `lasts`
  std::chrono::milliseconds limit{10'000};  // the maximum time without a byte from the other rank
};

// The data that both ranks of a pair send each other next.
struct PairLoad {
  std::uint64_t bytes = 0;  // size of one transfer
  std::uint64_t times = 0;  // number of consecutive transfers; 0: one probe

  bool is_probe() const { return times == 0; }
};

// The load for the first probe. Each further probe is larger, until a probe takes long enough to
// measure the pair's speed. So even a slow pair needs only about a second, and a slow rank is not
// mistaken for a rank that hangs.
PairLoad first_load(const PairTerms& terms);
// The load after a probe. `took_us`: the time of the slower direction.
PairLoad next_load(const PairTerms& terms, const PairLoad& probe, double took_us,
                   std::chrono::milliseconds lasts);

}  // namespace toprun::measure
