#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "measure/join.h"
#include "pairs/measured.h"

namespace toprun::measure {

struct PairTerms {
  std::uint64_t bytes = 8u << 20;           // of one transfer in one direction
  std::size_t transfers = 5;                // one directly after the other; more for `lasts`
  std::chrono::milliseconds limit{10'000};  // without a byte from the other
};

// Plays rounds together with the other ranks, whose numbers are the pairs' nodes. What a round
// measured comes back on rank 0; elsewhere the results are empty. A rank that does not come out of
// a round is left out of the later ones, and its pairs are hung.
class PairPlay {
 public:
  PairPlay(Group& group, const PairTerms& terms) : group_(group), terms_(terms) {}

  // All ranks play the same rounds. Each pair is measured for about as long as `lasts`, so that a
  // turn of another process on the host is a small part of it. Error: rank 0 or the store is gone.
  Result<std::vector<pairs::Measured>> play(const pairs::Round& round,
                                            std::chrono::milliseconds lasts);
  // Rank 0's rounds, told to all others.
  Result<std::vector<pairs::Round>> agree(std::vector<pairs::Round> rounds);

 private:
  class Partner;
  pairs::Measured meet(const pairs::Pair& pair);
  Result<pairs::Measured> exchange(const pairs::Pair& pair);
  Result<std::uint64_t> agree_on_transfers(const Partner& partner, bool is_first,
                                           double first_us) const;
  Result<void> close_round();
  Result<std::vector<pairs::Measured>> collect(const pairs::Round& round);
  bool is_gone(std::size_t rank) const;
  std::string key(std::string_view name, std::size_t rank) const;
  // For a whole pair: both connect, then wait for each other at every step.
  std::chrono::milliseconds round_limit() const { return 3 * terms_.limit; }

  Group& group_;
  const PairTerms& terms_;
  std::chrono::milliseconds lasts_{0};
  std::size_t round_ = 0;
  std::vector<std::size_t> gone_;  // ranks
};

}  // namespace toprun::measure
