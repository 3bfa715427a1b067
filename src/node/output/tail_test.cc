#include "node/output/tail.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(Tail, AnExceptionOfADataLoaderNamesTheSignalThatEndedItsWorker) {
  const std::string header = "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n";
  const std::string killed = "DataLoader worker (pid 1857) is killed by signal: Killed.";
  const std::string gone = "RuntimeError: DataLoader worker (pid(s) 1857) exited unexpectedly";
  const std::string chain =
      "\nThe above exception was the direct cause of the following exception:\n\n";
  EXPECT_EQ(
      last_exception(header + "RuntimeError: " + killed + " \n" + chain + header + gone + "\n"),
      gone + "\n" + killed);
  EXPECT_EQ(last_exception(header + gone + "\n"), gone);
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
