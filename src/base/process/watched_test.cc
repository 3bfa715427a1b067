#include <gtest/gtest.h>

#include "base/process/command.h"

namespace toprun::process {
namespace {

const Environment environment{{"PATH", "/usr/bin:/bin"}};

TEST(Watch, GivesEveryLineOfBothStreamsAsItComes) {
  std::vector<std::string> lines;
  const auto code = watch({"sh", "-c", "echo a; echo b >&2; cat; printf 'c\\n\\nrest'; exit 3"},
                          environment, [&](std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 3);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "c", "", "rest"}));
}

TEST(Watch, TellsOfASignalAndOfAMissingProgram) {
  const auto ignore = [](std::string_view) {};
  EXPECT_EQ(watch({"sh", "-c", "kill -9 $$"}, environment, ignore).value(), 137);
  const auto missing = watch({"no-such-program"}, environment, ignore);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().line(), "cannot run no-such-program: no such program in PATH");
}

TEST(Watch, AnEndlessLineComesInParts) {
  std::size_t bytes = 0;
  std::size_t longest = 0;
  const auto code =
      watch({"sh", "-c", "head -c 1000000 /dev/zero"}, environment, [&](std::string_view line) {
        bytes += line.size();
        longest = std::max(longest, line.size());
      });
  EXPECT_EQ(code.value(), 0);
  EXPECT_EQ(bytes, 1'000'000u);
  EXPECT_LE(longest, 68u * 1024);
}

}  // namespace
}  // namespace toprun::process
