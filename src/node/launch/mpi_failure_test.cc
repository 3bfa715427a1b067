#include <gtest/gtest.h>

#include "node/launch/mpi_ranks.h"

namespace toprun::launch {
namespace {

std::string traceback_with(const std::string& last) {
  return "Traceback (most recent call last):\n  File \"/t.py\", line 2, in <module>\n" + last +
         "\n";
}

TEST(MpiFailure, TheExceptionWithWhatMpirunSaysBehindIt) {
  const std::string end = "--------\nmpirun detected that one or more processes exited\n";
  const struct {
    std::string said, exception;
  } cases[] = {
      {"", ""},
      {end, ""},
      {traceback_with("ValueError: boom") + end, "ValueError: boom"},
      {traceback_with("ValueError: boom\nsecond line"), "ValueError: boom"},
      {traceback_with("horovod.common.exceptions.HorovodInternalError: x"),
       "horovod.common.exceptions.HorovodInternalError: x"},
      {traceback_with("AssertionError"), "AssertionError"},
      {traceback_with("RuntimeError: HF_TOKEN=hf_Ab3Ab3Ab3Ab3Ab3Ab3Ab3Ab3Ab3Ab3Ab3Ab3"),
       "RuntimeError: HF_TOKEN=<secret>"},
      // mpirun has ended a rank within its traceback.
      {traceback_with("ValueError: boom") + "Traceback (most recent call last):\n  File" + "\n" +
           end,
       "ValueError: boom"},
      // Another rank's line, and the end of a rank that was interrupted.
      {traceback_with("epoch 3: loss 0.2"), ""},
      {traceback_with("no Error: at all"), ""},
      {traceback_with("KeyboardInterrupt"), ""},
  };
  for (const auto& [said, exception] : cases)
    EXPECT_EQ(mpi_failure(said).exception, exception) << said;
  EXPECT_LE(mpi_failure(traceback_with("ValueError: " + std::string(5000, 'x'))).exception.size(),
            500u);
}

TEST(MpiFailure, IsThatOfTheRankThatMpirunNames) {
  const std::string named = "  Process name: [[26677,1],1]\n";
  const std::string mark = "Traceback (most recent call last):\n";
  const std::string mixed = "[1,1]<stderr>:" + mark + "[1,0]<stderr>:" + mark +
                            "[1,1]<stderr>:ValueError: boom\n------\n[1,0]<stderr>:OSError: lost\n";
  const MpiFailure failure = mpi_failure(mixed + named);
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.exception, "ValueError: boom");
  EXPECT_EQ(mpi_failure(mixed).rank, std::nullopt);
  EXPECT_EQ(mpi_failure(mixed).exception, "OSError: lost");
  EXPECT_EQ(mpi_failure("[1,0]<stderr>:OSError: lost\n" + named).exception, "");
  EXPECT_TRUE(mpi_failure(named).is_known());
  EXPECT_FALSE(mpi_failure("------\n").is_known());
}

TEST(MpiFailure, HasTheLastLinesOfTheRankThatMpirunNames) {
  const std::string named = "  Process name: [[26677,1],1]\n";
  const std::string said =
      "[1,1]<stderr>:loading\n[1,0]<stderr>:other\n[1,1]<stderr>:no data in /x\n[1,1]<stderr>:\n";
  const MpiFailure failure = mpi_failure(said + named);
  EXPECT_EQ(failure.exception, "");
  EXPECT_EQ(failure.last_lines, (std::vector<Outside>{"loading", "no data in /x"}));
  EXPECT_TRUE(mpi_failure("no data in /x\n" + named).last_lines.empty()) << "it may be of any rank";
}

// Python itself says so, without a traceback.
TEST(MpiFailure, AProgramThatPythonDoesNotFind) {
  const std::string named = "  Process name: [[26677,1],1]\n";
  for (const std::string error :
       {"/usr/bin/python3: No module named x",
        "python3: can't open file '/x.py': [Errno 2] No such file or directory"}) {
    EXPECT_EQ(mpi_failure("[1,1]<stderr>:" + error + "\n" + named).exception, error);
  }
}

// As the project's examples end without torchrun's variables.
TEST(MpiFailure, AScriptThatEndsItselfBecauseAVariableIsNotSet) {
  const std::string said = "pi.py: RANK is not set: start it with toprun or torchrun";
  const std::string named = "  Process name: [[26677,1],1]\n";
  const MpiFailure failure = mpi_failure("[1,1]<stderr>:" + said + "\n" + named);
  EXPECT_EQ(failure.exception, said);
  EXPECT_TRUE(failure.advice.contains("leave out --launcher mpirun")) << failure.advice;
  // A warning is not the end.
  EXPECT_EQ(mpi_failure("[1,1]<stderr>:RANK is not set\n[1,1]<stderr>:next\n" + named).exception,
            "");
}

TEST(MpiFailure, IsASignalWhereMpirunSaysSo) {
  const MpiFailure failure = mpi_failure(
      "[1,0]<stderr>:" + traceback_with("OSError: lost") +
      "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).\n");
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.signal, 9);
  EXPECT_EQ(failure.exception, "") << "that is rank 0's";
}

TEST(MpiFailure, AdviceForVariablesThatOnlyToprunSets) {
  const struct {
    std::string exception;
    bool advised;
  } cases[] = {
      {"ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
       "variable RANK expected, but not set",
       true},
      {"ValueError: x: environment variable MASTER_ADDR expected, but not set", true},
      {"KeyError: 'LOCAL_RANK'", true},
      {"KeyError: 'rank'", false},
      {"KeyError: 'RANKS'", false},
      {"ValueError: environment variable DATA expected", false},
  };
  for (const auto& [exception, advised] : cases) {
    EXPECT_EQ(!mpi_failure(traceback_with(exception)).advice.empty(), advised) << exception;
  }
}

}  // namespace
}  // namespace toprun::launch
