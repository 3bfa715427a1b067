#include "node/prepare/probes/node_check.h"

#include <gtest/gtest.h>

namespace toprun::probes {
namespace {

std::string outcome_of(const std::string& command) {
  const Environment environment{{"PATH", "/usr/bin:/bin"}};
  const auto checked = check_node(command, environment);
  return checked ? "fit" : checked.error()->why;
}

TEST(NodeCheck, TheExitCodeDecidesAndTheLastLineIsTheReason) {
  EXPECT_EQ(outcome_of("true"), "fit");
  EXPECT_EQ(outcome_of("echo warning >&2"), "fit");
  EXPECT_EQ(outcome_of("exit 3"), "exit code 3");
  EXPECT_EQ(outcome_of("echo checking; echo 'GPU 4 has ECC errors'; exit 1"),
            "GPU 4 has ECC errors (exit code 1)");
  EXPECT_EQ(outcome_of("echo started; echo 'no driver' >&2; exit 2"), "no driver (exit code 2)");
  EXPECT_EQ(outcome_of("kill -9 $$"), "exit code 137");
}

TEST(NodeCheck, ACommandThatCannotRunIsAReason) {
  EXPECT_NE(outcome_of("/nowhere/check").find("exit code 127"), std::string::npos);
  EXPECT_NE(outcome_of("/etc/passwd").find("exit code 126"), std::string::npos);
  EXPECT_NE(outcome_of("if").find("exit code 2"), std::string::npos);
}

TEST(NodeCheck, AMegabyteOfOutputIsReadAndItsEndIsNotGuessed) {
  EXPECT_EQ(outcome_of("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo bad; exit 1"),
            "exit code 1");
  EXPECT_EQ(outcome_of("head -c 1000000 /dev/zero"), "fit");
}

TEST(NodeCheck, ABackgroundProcessDoesNotDelayTheAnswer) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome_of("sleep 60 & exit 0"), "fit");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, node_check_limit);
}

}  // namespace
}  // namespace toprun::probes
