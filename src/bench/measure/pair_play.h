#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/measure/join.h"
#include "bench/pairs/tournament.h"

namespace toprun::measure {

// How a pair is measured.
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

// Returns the data to send in the first probe: a short transfer that estimates a pair's speed. Each
// further probe is larger, until a probe takes long enough to show the pair's speed. So even a slow
// pair is measured in about a second, and a slow rank is not mistaken for a rank that hangs.
PairLoad first_load(const PairTerms& terms);
// Returns the data to send after a probe: in a larger probe, or in the measurement itself.
// `took_us`: the time of the probe's slower direction. `lasts`: the approximate minimum duration of
// the measurement.
PairLoad next_load(const PairTerms& terms, const PairLoad& probe, double took_us,
                   std::chrono::milliseconds lasts);

// The times at which the data of one direction arrived in a measurement.
struct PairArrival {
  double all_us = 0;   // from before the partner could send until all transfers had arrived
  double late_us = 0;  // the arrival of the transfers that follow `skipped`
  std::size_t skipped = 0;
};
// Returns how many transfers at the beginning of a measurement do not count in its result. The
// partner may begin late.
std::size_t skipped_of(const PairLoad& load);
// Returns the time of one transfer in microseconds, according to the times in `arrival`. A small
// load fits into the sockets' buffers, so its receiver may read several transfers at once, faster
// than the network delivered them. So for a small load, the result is at least the mean time of all
// its transfers.
double transfer_us(const PairLoad& load, const PairArrival& arrival);

// Measures pairs of ranks in rounds, together with the other ranks. A pass is a sequence of rounds.
// A PairPlay measures ranks, so the numbers in its pairs are ranks, not nodes. Rank 0 gets a
// round's results; on other ranks they are empty. States of a rank:
//
//   present ──has not finished a round in time──▶ late ──nor by the end of the pass──▶ lost
//      ▲                                            │ has finished it
//      └────────────────────────────────────────────┘
//
// A late rank's pairs count as not measured. A lost rank's pairs count as hung.
class PairPlay {
 public:
  PairPlay(Group& group, const PairTerms& terms) : group_(group), terms_(terms) {}

  // Measures the pairs of one round. All ranks call play() with the same round. Each pair is
  // measured for about `lasts`, so that another process that briefly uses the host matters little.
  // The last round of a pass also waits for late ranks. `is_last`: this is the last round of the
  // pass. The round in which rank 0's clock reaches the time from end_passes_at() is the last round
  // too. Error: rank 0 or the store is gone.
  Result<std::vector<pairs::Measured>> play(const pairs::Round& round,
                                            std::chrono::milliseconds lasts, bool is_last);
  // From now on, each pair's directions are also measured one after the other (Measured::alone_ab).
  // All ranks have to call measure_each_direction() between the same two rounds.
  void measure_each_direction() { each_direction_ = true; }
  // Whether the latest play() was the last round of the pass; valid on all ranks.
  bool is_over() const { return is_over_; }
  // Ends the pass, on all ranks, with the round in which rank 0's clock reaches `until`.
  void end_passes_at(std::chrono::steady_clock::time_point until) { until_ = until; }
  // Returns a pass's results. In them, a pair that was not measured because one of its ranks is
  // lost counts as hung. Rank 0 calls without_gaps() after the last round of a pass.
  std::vector<pairs::Measured> without_gaps(std::vector<pairs::Measured> pass) const;
  // On rank 0, sends `rounds` to all other ranks. Returns rank 0's rounds on every rank. All ranks
  // call agree().
  Result<std::vector<pairs::Round>> agree(std::vector<pairs::Round> rounds);

 private:
  class Partner;
  pairs::Measured meet(const pairs::Pair& pair);
  Result<pairs::Measured> exchange(const pairs::Pair& pair);
  Result<std::chrono::steady_clock::time_point> meet_partner(const Partner& partner,
                                                             bool is_first) const;
  Result<PairLoad> agree_on_load(const Partner& partner, bool is_first, std::span<std::byte> out,
                                 std::span<std::byte> in) const;
  Result<double> one_way(const Partner& partner, bool sends, std::span<std::byte> bytes,
                         std::size_t times) const;
  Result<void> close_round(bool is_last);
  Result<void> hear_who_is_away(const std::string& where);
  Result<std::vector<pairs::Measured>> collect(const pairs::Round& met,
                                               std::vector<pairs::Measured> found);
  bool is_away(std::size_t rank) const;
  bool is_lost(std::size_t rank) const;
  bool is_missed(const pairs::Pair& pair) const;
  pairs::Measured left_out(const pairs::Pair& pair) const;
  std::string key(std::string_view name, std::size_t rank) const;
  // The time limit for a round. It is three times the limit for one step (PairTerms::limit),
  // because the ranks of a pair connect, and then wait for each other in every step.
  std::chrono::milliseconds round_limit() const { return 3 * terms_.limit; }

  Group& group_;
  const PairTerms& terms_;
  std::chrono::milliseconds lasts_{0};
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::time_point::max();
  bool is_over_ = false;
  bool each_direction_ = false;
  std::size_t round_ = 0;
  std::vector<std::size_t> away_;  // ranks that are late or lost
  std::vector<std::size_t> lost_;  // on rank 0
};

}  // namespace toprun::measure
