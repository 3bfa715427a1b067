#include "run/simulation/world.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"

namespace toprun::simulation {
namespace {

constexpr int most_nodes = 12;

// `run_sim --seed N --trace` shows such a run step by step.
TEST(Runs, KeepTheirPromisesWhateverBreaks) {
  const auto seeds = static_cast<std::uint64_t>(tried(2'000));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = World(scenario(seed, most_nodes), false).play();
    EXPECT_EQ(outcome.broken, "") << "run_sim --seed " << seed << " --trace";
  }
}

TEST(Runs, AreTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {3u, 14u, 159u, 2653u}) {
    const Outcome once = World(scenario(seed, most_nodes), false).play();
    const Outcome again = World(scenario(seed, most_nodes), false).play();
    EXPECT_EQ(once.steps, again.steps);
    EXPECT_EQ(once.took, again.took);
  }
}

TEST(Runs, OfManyNodesOutliveManyFaults) {
  const Outcome outcome = World(large(7, 1'000, 20), false).play();
  EXPECT_EQ(outcome.broken, "");
  EXPECT_GT(outcome.attempts, 5);
}

TEST(Runs, OfManyRanksInPlaceEndWell) {
  const Outcome outcome = World(in_place(7, 5'000), false).play();
  EXPECT_EQ(outcome.broken, "");
  EXPECT_EQ(outcome.exit_code, 0);
}

}  // namespace
}  // namespace toprun::simulation
