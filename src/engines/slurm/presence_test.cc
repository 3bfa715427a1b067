#include <gtest/gtest.h>

#include "engines/slurm/slurm.h"

namespace toprun::engines {
namespace {

TEST(SlurmPresence, NodesWithProcesses) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(nodes_in_sstat("1.0|n0|1511,1510\n1.0|n1|1508\n"), (Names{"n0", "n1"}));  // 22.05
  EXPECT_EQ(nodes_in_sstat("1.0|n0|1511\n1.0|n1|\n"), Names{"n0"});
  EXPECT_EQ(nodes_in_sstat(""), Names{});
  EXPECT_EQ(nodes_in_sstat("sstat: error\n|||\n1.0|n[|7\n"), Names{});
}

TEST(SlurmPresence, PrologsThatDelaySteps) {
  const std::string none = "Prolog                  = (null)\nPrologFlags             = (null)\n";
  const std::string slow = "Prolog                  = /p.sh\nPrologFlags             = (null)\n";
  const std::string newer = "Prolog[0]               = /p.sh\nPrologFlags             = NoHold\n";
  const std::string early =
      "Prolog[0]               = /p.sh\nPrologFlags             = Alloc,Contain\n";
  EXPECT_FALSE(prolog_delays_steps(none));
  EXPECT_TRUE(prolog_delays_steps(slow));
  EXPECT_TRUE(prolog_delays_steps(newer));
  EXPECT_FALSE(prolog_delays_steps(early));
}

}  // namespace
}  // namespace toprun::engines
