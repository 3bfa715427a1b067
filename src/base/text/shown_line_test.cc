#include "base/text/shown_line.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

TEST(ShownLine, ShowsLinesAsATerminalWould) {
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
      {"\x1b]0;title\x07text", "text"},
      {"\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1b(B\x1b[m100%", "100%"},
      {"\x1b]0;no end", "\\x1b]0;no end"},
  };
  for (const auto& [line, shown] : cases) EXPECT_EQ(shown_line(line, 100), shown);
  EXPECT_EQ(shown_line("abcdef", 3), "abcd…");
}

TEST(ShownLine, TheLastStateIsWhatATerminalShows) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"\n \n\t\n", ""},
      {"step 1\nstep 2 loss 0.5\n", "step 2 loss 0.5"},
      {"step 1\nstep 2", "step 2"},
      {"epoch 1\n\r 10%|#  | 1/10\r 20%|## | 2/10", " 20%|## | 2/10"},
      {"10%\r20%\r", "20%"},
      {"10%\r\x1b[K20%\r\x1b[K", "20%"},  // cleared before the next state
      {"99%\r100%\n\x1b[A", "100%"},
      {"\x1b[32mok\x1b[0m \xff\n", "ok \\xff"},
      {"login with hf_abcdefghijklmnopqrstuvwxyz012345 now\n", "login with <secret> now"},
      {"HF_TOKEN=x1y2 was set\n", "HF_TOKEN=<secret> was set"},
      {"max_token=4096  seed=7", "max_token=4096  seed=7"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(last_state(text, 100), shown);
}

TEST(ShownLine, TheLastStateIsNotALogLineOfPyTorchsIfAnythingElseWasSaid) {
  const std::string warning =
      "[W1128 12:00:00.123456789 socket.cpp:752] [c10d] The client socket has failed";
  const std::string of_rank = "[rank0]:[W1128 12:00:00.123 ProcessGroupNCCL.cpp:1] it is leaked";
  const std::string info = "[I1128 12:00:00.1 debug.cpp:49] [c10d] The debug level is set to INFO.";
  const std::string of_tee = "[rank1]: " + warning;
  const std::pair<std::string, std::string> cases[] = {
      {"step 1\n" + warning + "\n", "step 1"},
      {"step 1\n" + of_rank + "\n\n" + info + "\n" + of_tee + "\n", "step 1"},
      {warning + "\nstep 1\n", "step 1"},
      {info + "\n" + warning + "\n", warning},
      {"step 1\n[E1128 12:00:00.1 socket.cpp:1] it failed\n",
       "[E1128 12:00:00.1 socket.cpp:1] it failed"},
      {"step 1\n[Warmup] 3 of 5\n", "[Warmup] 3 of 5"},
      {"step 1\n[W1128] mine\n", "[W1128] mine"},
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(last_state(text, 100), shown) << text;
}

TEST(ShownLine, TheLastStateIsBounded) {
  const std::string secret = "hf_abcdefghijklmnopqrstuvwxyz012345";
  for (std::size_t before = 0; before < 120; ++before) {
    const std::string state = last_state(std::string(before, '-') + secret + "äöü\xff", 100);
    EXPECT_LE(state.size(), 100u);
    EXPECT_FALSE(state.contains("hf_abc")) << state;
  }
  EXPECT_TRUE(last_state(std::string(9'999, 'x'), 100).ends_with("x…"));
  std::string cleared = "said before\n";
  for (int i = 0; i < 30'000; ++i) cleared += "\r\x1b[K";
  EXPECT_EQ(last_state(cleared, 100), "") << "it is not searched for ever";
}

TEST(ShownLine, LastLinesSkipEmptyOnes) {
  const std::vector<std::string> expected = {"b", "c"};
  EXPECT_EQ(last_lines("a\nb\n\n  \nc\n\n", 2, 100), expected);
  EXPECT_EQ(last_lines("", 2, 100), std::vector<std::string>{});
  EXPECT_EQ(last_lines("only", 2, 100), std::vector<std::string>{"only"});
}

}  // namespace
}  // namespace toprun
