#include "node/rehearsal/play.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"

namespace toprun::rehearsal {
namespace {

// `run_sim --drivers --seed N --trace` shows such a run step by step.
TEST(Rehearsals, KeepTheirPromisesWhateverIsLateOrLost) {
  const auto seeds = static_cast<std::uint64_t>(tried(500));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = Play(script(seed), false).run();
    EXPECT_EQ(outcome.broken, "") << "run_sim --drivers --seed " << seed << " --trace";
  }
}

TEST(Rehearsals, EndWellWithoutFaults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = Play(calm_script(seed), false).run();
    EXPECT_EQ(outcome.broken, "");
    EXPECT_EQ(outcome.exit_code, 0);
  }
}

TEST(Rehearsals, AreTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {3u, 14u, 159u, 265u}) {
    const Outcome once = Play(script(seed), false).run();
    const Outcome again = Play(script(seed), false).run();
    EXPECT_EQ(once.steps, again.steps);
    EXPECT_EQ(once.took, again.took);
    EXPECT_EQ(once.exit_code, again.exit_code);
  }
}

}  // namespace
}  // namespace toprun::rehearsal
