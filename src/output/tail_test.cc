#include "output/tail.h"

#include <gtest/gtest.h>

namespace toprun::output {
namespace {

TEST(Tail, KeepsTheEndOfMuchInLittleMemory) {
  Tail tail;
  for (int i = 0; i < 100'000; ++i) tail.add(Tail::Source::out, fmt::format("line {}\n", i));
  EXPECT_LE(tail.text().size(), 2 * Tail::kept_bytes);
  EXPECT_TRUE(tail.text().ends_with("line 99998\nline 99999\n"));
  tail.add(Tail::Source::out, std::string(10 * Tail::kept_bytes, 'x'));
  EXPECT_LE(tail.text().size(), 3 * Tail::kept_bytes);
}

using TailPiece = std::pair<Tail::Source, std::string>;
constexpr Tail::Source tail_out = Tail::Source::out;
constexpr Tail::Source tail_err = Tail::Source::err;

Tail tail_with(const std::vector<TailPiece>& pieces) {
  Tail tail;
  for (const auto& [source, bytes] : pieces) tail.add(source, bytes);
  return tail;
}

TEST(Tail, SourcesDoNotShareALine) {
  const std::vector<std::pair<std::vector<TailPiece>, std::string>> cases = {
      {{{tail_out, "half"}, {tail_err, "other\n"}, {tail_err, "more\n"}}, "half\nother\nmore\n"},
      {{{tail_out, "rank"}, {tail_err, "Traceback\n"}, {tail_out, " 1"}, {tail_out, " loads\n"}},
       "Traceback\nrank 1 loads\n"},
      {{{tail_out, "a"}, {tail_err, "x"}, {tail_out, "b\n"}, {tail_err, "y\n"}}, "ab\nxy\n"},
      {{{tail_out, "a"}, {tail_err, "x\n"}, {tail_out, "b"}}, "x\nab"},
      {{{tail_out, "a"}, {tail_err, "x"}}, "a\nx"},
      {{{tail_out, "1\n"}, {tail_err, "x"}, {tail_out, "2\n"}}, "1\nx\n2\n"},
      {{{tail_err, "10%"}, {tail_err, "\r20%"}}, "10%\r20%"},
      {{{tail_err, "10%"}, {tail_err, "\r20%"}, {tail_out, "step\n"}}, "10%\r20%\n\nstep\n"},
      {{{tail_err, "10%\r"}, {tail_out, "step\n"}, {tail_err, "20%\r"}}, "10%\r\nstep\n20%\r"},
  };
  for (const auto& [pieces, text] : cases) EXPECT_EQ(tail_with(pieces).text(), text);
}

TEST(Tail, AnUnfinishedLineStaysInOrderWhenTheStartIsDropped) {
  Tail tail;
  tail.add(tail_err, "unfinished");
  for (int i = 0; i < 100'000; ++i) tail.add(tail_out, fmt::format("line {}\n", i));
  EXPECT_LE(tail.text().size(), 2 * Tail::kept_bytes + 20);
  EXPECT_TRUE(tail.text().starts_with("unfinished\n"));
  tail.add(tail_err, std::string(10 * Tail::kept_bytes, 'x'));
  EXPECT_LE(tail.text().size(), 5 * Tail::kept_bytes);
  EXPECT_LE(tail.text_of(tail_err).size(), 2 * Tail::kept_bytes);
}

TEST(Tail, AnExceptionHasNoLineOfTheOtherStreams) {
  const std::string stack = "Traceback (most recent call last):\n  File \"t.py\", line 3\n";
  const std::string error = "FileNotFoundError: [Errno 2] No such file or directory: '/data/c4'";
  const std::vector<std::pair<std::vector<TailPiece>, std::string>> cases = {
      {{{tail_out, "rank"}, {tail_err, stack}, {tail_out, " 1\n"}, {tail_err, error + "\n"}},
       error},
      {{{tail_err, stack + error + "\n"}, {tail_out, "bye\n"}}, error},
      {{{tail_out, stack}, {tail_err, "a warning\n"}, {tail_out, error + "\n"}}, error},
      {{{tail_err, stack}, {tail_out, "step 5\n"}}, ""},
  };
  for (const auto& [pieces, exception] : cases) {
    EXPECT_EQ(last_exception(tail_with(pieces)), exception);
  }
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
      {"\x1b]0;title\x07text", "text"},
      {"\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1b(B\x1b[m100%", "100%"},
      {"\x1b]0;no end", "\\x1b]0;no end"},
  };
  for (const auto& [line, shown] : cases) EXPECT_EQ(shown_line(line, 100), shown);
  EXPECT_EQ(shown_line("abcdef", 3), "abcd…");
}

TEST(Tail, TheLastStateIsWhatATerminalShows) {
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

TEST(Tail, TheLastStateIsNotALogLineOfPyTorchsIfAnythingElseWasSaid) {
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

TEST(Tail, TheLastStateIsBounded) {
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
      {"\r 20%|## |[rank5]: Traceback (most recent call last):\n[rank5]:   File \"t.py\", line 1\n"
       "[rank5]: ValueError: boom\n",
       "ValueError: boom"},
      {"\r 20%|## |" + header + "ValueError: boom\n", "ValueError: boom"},
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
      {"[rank0]: " + header +
           "[rank0]:[W1121 12:00:00.1 TCPStore.cpp:1] gone\n[rank0]: ValueError: x\n",
       "ValueError: x"},
      {header + "[W1121 12:00:00.1 TCPStore.cpp:1] gone\nValueError: x\n", "ValueError: x"},
      {header + "\x1b[31mValueError: red\x1b[0m\r\n", "ValueError: red"},
  };
  for (const auto& [text, exception] : cases) EXPECT_EQ(last_exception(text), exception) << text;
}

TEST(Tail, AnExceptionEndsBeforeWhatOthersPrintBehindIt) {
  const std::string raised = "Traceback (most recent call last):\n  File \"t.py\", line 1\n";
  for (const std::string behind : {
           "terminate called without an active exception",
           "terminate called after throwing an instance of 'c10::Error'\n  what():  gone",
           "libc++abi: terminating",
           "Fatal Python error: Aborted",
           "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: "
           "resource_tracker: There appear to be 1 leaked semaphore objects",
       }) {
    EXPECT_EQ(last_exception(raised + "ValueError: bad loss nan\n" + behind + "\n"),
              "ValueError: bad loss nan");
  }
  EXPECT_EQ(last_exception(raised + "ValueError: a\nsee DeprecationWarning: b\n"),
            "ValueError: a\nsee DeprecationWarning: b");
}

TEST(Tail, WhatPythonRefusesToStartHasNoTraceback) {
  const std::string frame = "  File \"/a/x.py\", line 1\n    x = = 1\n        ^\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {frame + "SyntaxError: invalid syntax\n", "SyntaxError: invalid syntax"},
      {"IndentationError: unexpected indent\n", "IndentationError: unexpected indent"},
      {"TabError: inconsistent use of tabs\n\n", "TabError: inconsistent use of tabs"},
      {"a warning\nSyntaxError: encoding problem: nosuch\n",
       "SyntaxError: encoding problem: nosuch"},
      {"/v/bin/python3: No module named nosuch\n", "/v/bin/python3: No module named nosuch"},
      {"/a b/bin/python3.11: Error while finding module specification for 'nosuch.mod' "
       "(ModuleNotFoundError: No module named 'nosuch')\n",
       "/a b/bin/python3.11: Error while finding module specification for 'nosuch.mod' "
       "(ModuleNotFoundError: No module named 'nosuch')"},
      {"python: can't open file '/x.py': [Errno 2] No such file or directory\n",
       "python: can't open file '/x.py': [Errno 2] No such file or directory"},
      {"python3: can't find '__main__' module in '/a'\n",
       "python3: can't find '__main__' module in '/a'"},
      {"SyntaxError: x\nretrying\n", ""},
      {"SyntaxErrors: 5\n", ""},
      {"loader: No module named x\n", ""},
      {"my python: No module named x\n", ""},
      {"I give up: no data\n", ""},  // of sys.exit(), or a mere warning: it cannot be told
      {"UserWarning: slow\n", ""},
  };
  for (const auto& [text, said] : cases) {
    EXPECT_EQ(last_exception(tail_with({{tail_err, text}})), said) << text;
    EXPECT_EQ(last_exception(tail_with({{tail_out, text}})), said) << text;
  }
}

}  // namespace
}  // namespace toprun::output
