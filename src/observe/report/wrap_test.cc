#include <gtest/gtest.h>

#include "observe/report/columns.h"

namespace toprun::report {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BetweenWords) {
  EXPECT_EQ(wrapped("ended by SIGTERM: interrupted", 20, 0),
            Lines({"ended by SIGTERM:", "interrupted"}));
  EXPECT_EQ(wrapped("aaaa bbbb", 4, 0), Lines({"aaaa", "bbbb"}));
  EXPECT_EQ(wrapped("abcdefghij kl", 4, 0), Lines({"abcd", "efgh", "ij", "kl"}));
  EXPECT_EQ(wrapped("grün über", 4, 0), Lines({"grün", "über"}));
  EXPECT_EQ(wrapped("one two three four", 9, 2), Lines({"one two", "thre…four"}));
  EXPECT_EQ(wrapped("one two three four five six", 16, 1), Lines({"one two … six"}));
  EXPECT_EQ(wrapped("all of it", 0, 0), Lines({"all of it"}));
  EXPECT_EQ(wrapped(" ", 4, 0), Lines({" "}));
  EXPECT_EQ(beginning("über alles", 5), "über…");
  EXPECT_EQ(beginning("über", 4), "über");
  EXPECT_EQ(wrapped("", 4, 0), Lines());
  EXPECT_EQ(wrapped(Lines({"a", "bb", "ccc"}), 6, 0), Lines({"a | bb", "ccc"}));
  EXPECT_EQ(wrapped(Lines({"aaa", "bb", "ccc"}), 5, 2), Lines({"aaa", "bb…cc"}));
}

}  // namespace
}  // namespace toprun::report
