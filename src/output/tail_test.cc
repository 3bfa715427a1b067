#include "output/tail.h"

#include <gtest/gtest.h>

namespace toprun::output {
namespace {

TEST(Tail, KeepsTheEndOfMuchInLittleMemory) {
  Tail tail;
  for (int i = 0; i < 100'000; ++i) tail.add(0, fmt::format("line {}\n", i));
  EXPECT_LE(tail.text().size(), 2 * Tail::kept_bytes);
  EXPECT_TRUE(tail.text().ends_with("line 99998\nline 99999\n"));
  tail.add(0, std::string(10 * Tail::kept_bytes, 'x'));
  EXPECT_LE(tail.text().size(), 2 * Tail::kept_bytes);
}

TEST(Tail, SourcesDoNotShareALine) {
  Tail tail;
  tail.add(1, "half");
  tail.add(2, "other\n");
  tail.add(2, "more\n");
  EXPECT_EQ(tail.text(), "half\nother\nmore\n");
}

TEST(Tail, ShowsLinesAsATerminalWould) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain", "plain"},
      {"10%\r20%\r30%", "30%"},
      {"windows\r\n", "windows"},
      {"\x1b[31mred\x1b[0m", "red"},
      {"grün", "grün"},
      {"a\tb", "a    b"},
      {std::string("nul\0.", 5), "nul\\x00."},
      {"bad\xff\xc3(", "bad\\xff\\xc3("},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate, not UTF-8
      {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
  };
  for (const auto& [line, shown] : cases) EXPECT_EQ(shown_line(line, 100), shown);
  EXPECT_EQ(shown_line("abcdef", 3), "abcd…");
}

TEST(Tail, LastLinesSkipEmptyOnes) {
  const std::vector<std::string> expected = {"b", "c"};
  EXPECT_EQ(last_lines("a\nb\n\n  \nc\n\n", 2, 100), expected);
  EXPECT_EQ(last_lines("", 2, 100), std::vector<std::string>{});
  EXPECT_EQ(last_lines("only", 2, 100), std::vector<std::string>{"only"});
}

TEST(Tail, FindsTheLastException) {
  const std::string header =
      "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n    x\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"just text\n", ""},
      {header + "ValueError: boom\n", "ValueError: boom"},
      {header + "KeyboardInterrupt\n", "KeyboardInterrupt"},
      {header, ""},  // cut off
      {header +
           "ValueError: a\n\nDuring handling of the above exception, another exception "
           "occurred:\n\n" +
           header + "TypeError: b\n",
       "TypeError: b"},
      {header + "ValueError: a\nException ignored in: <f>\n" + header + "OSError: late\n",
       "ValueError: a"},
      {"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 1\n[rank1]:    "
       " "
       "f()\n[rank1]: RuntimeError: no\n",
       "RuntimeError: no"},
      {header + "torch.distributed.DistBackendError: NCCL error\nncclRemoteError: gone\nException "
                "raised from f\nframe #0: g\n",
       "torch.distributed.DistBackendError: NCCL error\nncclRemoteError: gone"},
      {"[rank0]: " + header +
           "[rank0]: ValueError: x\n[rank0]:[W1121 TCPStore.cpp:1] Broken pipe\n",
       "ValueError: x"},
      {header + "\x1b[31mValueError: red\x1b[0m\r\n", "ValueError: red"},
  };
  for (const auto& [text, exception] : cases) EXPECT_EQ(last_exception(text), exception) << text;
}

}  // namespace
}  // namespace toprun::output
