#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/measure/pair_play.h"

namespace toprun::measure {
namespace {

// Of a pair that carries so many Mbit/s: all loads, one after the other.
std::vector<PairLoad> loads_at(double mbps, const PairTerms& terms) {
  std::vector<PairLoad> out{first_load(terms)};
  while (out.back().is_probe()) {
    const double took_us = static_cast<double>(out.back().bytes) * 8 / mbps;
    out.push_back(next_load(terms, out.back(), took_us, std::chrono::milliseconds(200)));
  }
  return out;
}

TEST(PairLoad, ASlowPairIsDoneInTime) {
  for (const double mbps : {0.5, 1.0, 10.0, 20.0, 66.0, 400.0, 10'000.0, 400'000.0}) {
    double seconds = 0;
    for (const PairLoad& load : loads_at(mbps, {})) {
      seconds +=
          static_cast<double>(load.bytes * std::max<std::uint64_t>(load.times, 1)) * 8 / mbps / 1e6;
    }
    EXPECT_LT(seconds, 3) << mbps;
  }
}

TEST(PairLoad, AFastPairCarriesWholeTransfersForLongEnough) {
  for (const double mbps : {400.0, 10'000.0, 400'000.0}) {
    const PairLoad last = loads_at(mbps, {}).back();
    EXPECT_EQ(last.bytes, PairTerms{}.bytes) << mbps;
    EXPECT_GE(last.times, PairTerms{}.transfers) << mbps;
    EXPECT_GT(static_cast<double>(last.bytes * last.times) * 8 / mbps, 190'000) << mbps;
  }
}

TEST(PairLoad, SmallAndManyTransfers) {
  EXPECT_EQ(first_load({.bytes = 1}).bytes, 1u);
  EXPECT_LE(loads_at(100'000, {.bytes = 1}).back().times, 100'000u);
  const PairLoad many = loads_at(10, {.transfers = 1'000'000}).back();
  EXPECT_EQ(many.bytes, 16u << 10);
  EXPECT_LT(many.times, 100u);
}

// 2.5 MB whose last three quarters lay in the socket's buffer: 0.15 ms instead of 0.4 s.
TEST(TransferTime, WhatLayInABufferIsNotTheNetworksPace) {
  const PairLoad slow{512 << 10, 5};
  EXPECT_EQ(skipped_of(slow), 1u);
  EXPECT_DOUBLE_EQ(transfer_us(slow, {400'000, 150, 1}), 80'000);
  EXPECT_DOUBLE_EQ(transfer_us(slow, {1'000'000, 960'000, 1}), 240'000);
}

TEST(TransferTime, ALargeLoadLeavesOutItsBeginning) {
  const PairLoad large{8 << 20, 8};
  EXPECT_EQ(skipped_of(large), 2u);
  EXPECT_DOUBLE_EQ(transfer_us(large, {100'000, 60'000, 2}), 10'000);
}

TEST(TransferTime, OfAProbe) {
  EXPECT_EQ(skipped_of({64 << 10, 0}), 0u);
  EXPECT_DOUBLE_EQ(transfer_us({64 << 10, 0}, {70, 70, 0}), 70);
}

}  // namespace
}  // namespace toprun::measure
