#include "base/os/style.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

TEST(Style, ColoursAreWantedUnlessTheUserSaysNo) {
  EXPECT_TRUE(wants_colours({}));
  EXPECT_TRUE(wants_colours({{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_FALSE(wants_colours({{"NO_COLOR", "1"}}));
  EXPECT_FALSE(wants_colours({{"TERM", "dumb"}}));
}

TEST(Style, NoTerminalHasNeitherColourNorWidth) {
  const Style style = style_of(-1, {});
  EXPECT_FALSE(style.colour);
  EXPECT_EQ(style.columns, 0u);
  EXPECT_EQ(coloured("x", Colour::bad, style), "x");
  EXPECT_EQ(coloured("x", Colour::bad, {.colour = true}), "\x1b[31mx\x1b[0m");
}

TEST(Style, WhatIsPassedOnToATerminalHasColours) {
  EXPECT_TRUE(style_of_stderr({{"TOPRUN_COLOURS", "1"}}).colour);
  EXPECT_EQ(style_of_stderr({{"TOPRUN_COLOURS", "1"}}).columns, 0u);
}

TEST(Style, ShortenedTextKeepsBothEnds) {
  EXPECT_EQ(both_ends("abcdefghij", 0), "abcdefghij");
  EXPECT_EQ(both_ends("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(both_ends("abcdefghij", 9), "abcd…ghij");
  EXPECT_EQ(both_ends("abcdefghij", 4), "ab…j");
  EXPECT_EQ(both_ends("üüüüüü", 3), "ü…ü");
  EXPECT_EQ(both_ends("RuntimeError: [gloo/pair.cc:81] Timed out waiting 20000ms", 40),
            "RuntimeError: [gloo/…out waiting 20000ms");
}

}  // namespace
}  // namespace toprun
