#include "cli/options/call.h"

#include <gtest/gtest.h>

namespace toprun::options {
namespace {

Call call(Command command, const std::vector<std::string>& words, Environment environment = {}) {
  return {command, split_verb(words, command).value(), std::move(environment)};
}

TEST(Call, IsReadByOption) {
  const Call logs = call(Command::logs, {"17", "--rank=3", "-f"});
  EXPECT_EQ(logs.operand(), "17");
  EXPECT_EQ(logs.operand(1), "");
  EXPECT_EQ(logs.text(FlagId::rank), "3");
  EXPECT_TRUE(logs.has(FlagId::follow));
  EXPECT_FALSE(logs.has(FlagId::node));
}

TEST(Call, TheCommandsOwnRowIsTaken) {
  const Call order =
      call(Command::topo_order, {"--nnodes", "2"}, {{"PET_NNODES", "7"}, {"TOPRUN_SEGMENT", "4"}});
  EXPECT_EQ(order.text(FlagId::requested_nodes), "2");
  EXPECT_EQ(order.argument(FlagId::segment)->label(), "TOPRUN_SEGMENT=4");
  EXPECT_FALSE(order.argument(FlagId::segment)->is_typed());
}

TEST(Call, OfAnOptionThatIsGivenTwiceTheLastCountsUnlessItMayBe) {
  const Call score =
      call(Command::topo_score, {"--size", "1M", "--size=2M", "--link", "a=1", "--link", "b=2"});
  EXPECT_EQ(score.text(FlagId::message_size), "2M");
  EXPECT_EQ(score.all(FlagId::message_size).size(), 1u);
  EXPECT_EQ(score.all(FlagId::link).size(), 2u);
}

}  // namespace
}  // namespace toprun::options
