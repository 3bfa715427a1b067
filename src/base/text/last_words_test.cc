#include <gtest/gtest.h>

#include "base/text/shown_line.h"

namespace toprun {
namespace {

TEST(LastWords, TheLastLinesThatAreNotBlank) {
  EXPECT_EQ(last_words(""), "");
  EXPECT_EQ(last_words(" \n\t\n"), "");
  EXPECT_EQ(last_words("a\nb\r\n\n"), "b");
  EXPECT_EQ(last_words("a\nb\nc", 2), "b | c");
  EXPECT_EQ(last_words("a\n", 2), "a");
}

TEST(LastWords, AreHarmlessToATerminal) {
  EXPECT_EQ(last_words("\033[1;31mred\033[0m"), "red");
  EXPECT_EQ(last_words("end\033["), "end");
  EXPECT_EQ(last_words("\033]0;title\a"), "\\x1b]0;title\\x07");
}

TEST(LastWords, ALineThatGoesOnBelongsToTheOneBefore) {
  EXPECT_EQ(last_words("INFO: x\n\033[91mERROR  : no right\n\033[0m: exit status 1\n"),
            "ERROR  : no right: exit status 1");
  EXPECT_EQ(last_words(": alone"), ": alone");
}

}  // namespace
}  // namespace toprun
