#include <gtest/gtest.h>

#include "node/agent/publish/launch_line.h"

namespace toprun::publish {
namespace {

using namespace std::chrono_literals;

TEST(TakeTold, LeavesWhatRanksPrint) {
  struct {
    std::string text, left;
    std::optional<std::string> reported;
  } cases[] = {
      {"", "", std::nullopt},
      {"a\nb\n", "a\nb\n", std::nullopt},
      {"\x1etoprun-launch 3 s\n", "", "3 s"},
      {"a\n\x1etoprun-launch 3 s\nb\n\x1etoprun-launch \nc", "a\nb\nc", ""},
      {"a\n\x1etoprun-launch 3 s", "a\n\x1etoprun-launch 3 s", std::nullopt},
      {"\x1e other\n", "\x1e other\n", std::nullopt},
  };
  for (auto& one : cases) {
    std::string text = one.text;
    EXPECT_EQ(take_report(text), one.reported) << one.text;
    EXPECT_EQ(text, one.left);
  }
}

TEST(LeavesRoom, WhereRanksAreSilent) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const SteadyTime began = now - 10s;
  EXPECT_TRUE(leaves_room(std::nullopt, began, false));
  EXPECT_TRUE(leaves_room(began - 1s, began, false)) << "that was another launch";
  EXPECT_FALSE(leaves_room(now, began, true));
  EXPECT_TRUE(leaves_room(now - 5s, began, true));
  EXPECT_FALSE(leaves_room(now - 5s, began, false)) << "the ranks' own output says more";
}

}  // namespace
}  // namespace toprun::publish
