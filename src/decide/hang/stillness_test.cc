#include "decide/hang/stillness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace toprun::hang {
namespace {

using namespace std::chrono_literals;

const SteadyTime start = SteadyTime() + 1h;

// One rank or more, looked at every second for so many seconds.
template <class Look>
std::optional<Still> after(int seconds, const Look& look) {
  Stillness stillness(30s);
  for (int second = 0; second <= seconds; ++second) {
    stillness.look(look(second), start + std::chrono::seconds(second));
  }
  return stillness.still();
}

using Ranks = std::vector<RankSample>;

TEST(Stillness, OfARankThatWaits) {
  const auto still = after(40, [](int) { return Ranks{{.communicates = true, .path = 1}}; });
  ASSERT_TRUE(still);
  EXPECT_EQ(still->since, start);
  EXPECT_TRUE(still->some_communicate);
}

TEST(Stillness, EndsWithOutputAndWork) {
  EXPECT_EQ(after(40, [](int second) { return Ranks{{.path = 1, .done = second >= 25 ? 1u : 0u}}; })
                ->since,
            start + 25s);
  EXPECT_EQ(
      after(40, [](int second) { return Ranks{{.path = 1, .computes = second <= 31}}; })->since,
      start + 31s);
  EXPECT_FALSE(after(40, [](int) { return Ranks{{.path = 1}}; })->some_communicate);
}

// It asks again and again: its stack is one of a few.
TEST(Stillness, OfARankThatPolls) {
  const auto still = after(
      40, [](int second) { return Ranks{{.path = static_cast<std::uint64_t>(1 + second % 3)}}; });
  EXPECT_LE(still->since, start + 10s);
}

TEST(Stillness, EndsWithAFunctionTooMany) {
  const auto works = after(
      40, [](int second) { return Ranks{{.path = static_cast<std::uint64_t>(1 + second % 4)}}; });
  EXPECT_GT(works->since, start + 35s);
  // A rank that came into its wait by ten functions stands still from the last few on.
  const auto waits = after(40, [](int second) {
    return Ranks{{.path = static_cast<std::uint64_t>(std::min(second, 10))}};
  });
  EXPECT_EQ(waits->since, start + 9s);
}

TEST(Stillness, IsOfAllRanksThatLive) {
  const auto still = after(40, [](int second) {
    return Ranks{{.communicates = true, .path = 1},
                 {.path = 2, .computes = second <= 20},
                 {.lives = second < 30, .path = static_cast<std::uint64_t>(second)}};
  });
  EXPECT_EQ(still->since, start + 20s);
  EXPECT_TRUE(still->some_communicate);
  EXPECT_FALSE(after(3, [](int) { return Ranks{{.lives = false}}; }));
  EXPECT_FALSE(Stillness(30s).still());
}

// Busy samples now and then, one or two in a row: a thread that idles on a machine that is loaded.
TEST(Stillness, AnHourOfAHangDoesNotFlicker) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    Stillness stillness(30s);
    int busy_until = 30;
    for (int second = 0; second <= 3600; ++second) {
      if (second > busy_until + 1 && random() % 20 == 0) busy_until = second + 1;
      const bool computes = second > 30 && second <= busy_until;
      stillness.look(Ranks{{.communicates = true, .path = 1, .computes = computes}, {.path = 2}},
                     start + std::chrono::seconds(second));
      ASSERT_EQ(stillness.still()->since, start) << "seed " << seed << ", second " << second;
    }
  }
}

TEST(Stillness, OfALongHangEndsWithWork) {
  const auto since = [](const auto& works) {
    return after(110, [&](int second) { return Ranks{works(second)}; })->since;
  };
  EXPECT_EQ(since([](int second) { return RankSample{.path = 1, .computes = second >= 100}; }),
            start + 110s);
  EXPECT_EQ(
      since([](int second) { return RankSample{.path = 1, .done = second >= 105 ? 1u : 0u}; }),
      start + 105s);
  EXPECT_GT(since([](int second) {
              return RankSample{.path = static_cast<std::uint64_t>(std::max(second, 100))};
            }),
            start + 105s);
}

TEST(Stillness, LeavesOutTheTimeInWhichNothingRan) {
  Stillness stillness(30s);
  const Ranks ranks = {{.communicates = true, .path = 1}};
  stillness.look(ranks, start);
  stillness.look(ranks, start + 20s);
  stillness.leave_out(1h);
  stillness.look(ranks, start + 1h + 20s);
  EXPECT_EQ(stillness.still()->since, start + 1h);
}

TEST(Stillness, ForgetsWhatIsLongPast) {
  Stillness stillness(30s);
  for (int second = 0; second < 100'000; ++second) {
    stillness.look(Ranks{{.path = static_cast<std::uint64_t>(second)}},
                   start + std::chrono::seconds(second));
  }
  EXPECT_GT(stillness.still()->since, start + 99'990s);
}

}  // namespace
}  // namespace toprun::hang
