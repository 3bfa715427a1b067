#include "observe/report/report.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ctime>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "run/model/exit.h"

namespace toprun::report {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const WallTime ten_o_clock{std::chrono::seconds(1795255200)};  // 2026-11-21 10:00:00 UTC

model::WorkerExit failed_exit() {
  model::WorkerExit exit;
  exit.host = "n4";
  exit.rank = 3;
  exit.local_rank = 1;
  exit.pid = 4711;
  exit.exit_code = 7;
  return exit;
}

model::Cause of_kind(model::CauseKind kind) {
  model::Cause cause;
  cause.kind = kind;
  return cause;
}

model::RunRecord two_nodes() {
  model::RunRecord run;
  run.job = "job1";
  run.started = ten_o_clock;
  run.ended = ten_o_clock + 200s;
  model::AttemptRecord attempt;
  attempt.started = run.started;
  attempt.ended = run.ended;
  attempt.phases.join = 12ms;
  attempt.spreads.join = {2, 3ms, 12ms, std::nullopt, "n2"};
  attempt.nodes = {{"n1", 0, 0, 8, "/c/r1/n1", "/l/job1_x"}, {"n2", 1, 8, 8, ""}};
  attempt.order =
      model::OrderRecord{"topology",        "evidence from t", "t", {{"rack", 2, 2, 2}}, {"n2"},
                         {"n2 is unknown"}, {"t tells n1"},    true};
  run.attempts = {attempt};
  return run;
}

TEST(Report, FailureOfARank) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "ValueError: boom\nmore of it";
  exit.last_output = {"Traceback (most recent call last):", "  File \"t.py\", line 1",
                      "ValueError: boom"};
  exit.error_file = model::ErrorFile{"/logs/e.json", "", std::nullopt};
  EXPECT_EQ(failure_report(model::cause_of(exit), {2, 13, 0}, "/logs/attempt_0/1/stderr.log", {}),
            "toprun: rank 3 on n4 ended with exit code 7\n"
            "  rank        3: local rank 1 of n4, pid 4711\n"
            "  it said     ValueError: boom\n"
            "              more of it\n"
            "  last lines  Traceback (most recent call last):\n"
            "                File \"t.py\", line 1\n"
            "              ValueError: boom\n"
            "  others      2 failed too, 13 were stopped\n"
            "  error file  /logs/e.json\n"
            "  logs        /logs/attempt_0/1/stderr.log on n4\n"
            "  next        see t.py, line 1\n");
}

TEST(Report, AnExceptionsAdviceIsTheInnermostLineOfTheUsersOwnCode) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "ValueError: boom";
  exit.last_output = {
      "[rank3]: Traceback (most recent call last):",
      "[rank3]:   File \"/home/a/train.py\", line 9, in <module>",
      "[rank3]:   File \"/home/a/data.py\", line 88, in read",
      "[rank3]:   File \"/v/lib/python3.11/site-packages/torch/x.py\", line 5, in f",
      "[rank3]: ValueError: boom"};
  EXPECT_TRUE(failure_report(model::cause_of(exit), {}, "", {})
                  .ends_with("  next        see /home/a/data.py, line 88, in read\n"));
  exit.last_output = {"ValueError: boom"};
  EXPECT_FALSE(failure_report(model::cause_of(exit), {}, "", {}).contains("  next  "));
}

TEST(Report, AFileThatHidesAModuleIsNamed) {
  const auto next = [](std::string exception, std::vector<std::string> output) {
    model::WorkerExit exit = failed_exit();
    exit.exception = std::move(exception);
    exit.last_output = std::move(output);
    const std::string report = failure_report(model::cause_of(exit), {}, "", {});
    const std::size_t at = report.find("  next        ");
    return at == report.npos ? "" : report.substr(at + 14);
  };
  const std::string train = "  File \"/job/train.py\", line 1, in <module>";
  EXPECT_EQ(next("NameError: name 'x' is not defined",
                 {train, "    import json",
                  "  File \"/usr/lib64/python3.9/json/decoder.py\", line 3, in <module>",
                  "    import re", "  File \"/job/re.py\", line 1, in <module>", "    x"}),
            "/job/re.py hides Python's module re: rename the file\n");
  EXPECT_EQ(next("ImportError: cannot import name 'Random' from 'random' (/job/random.py)",
                 {train, "    import tempfile",
                  "[rank0]:   File \"/p/lib/python3.11/tempfile.py\", line 45, in <module>",
                  "[rank0]:     from random import Random as _Random"}),
            "/job/random.py hides Python's module random: rename the file\n");
  EXPECT_EQ(next("AttributeError: partially initialized module 'torch' has no attribute 'nn' (most "
                 "likely due to a circular import)",
                 {train, "    import torch", "  File \"/job/torch.py\", line 2, in <module>",
                  "    torch.nn"}),
            "/job/torch.py imports itself instead of another module torch: rename the file\n");
  // A submodule has the base name of the module that it imports.
  EXPECT_EQ(
      next("ImportError: cannot import name 'X' from 'config' (/job/config.py)",
           {train, "    import model.config",
            "  File \"/job/model/config.py\", line 1, in <module>", "    from config import X"}),
      "see /job/model/config.py, line 1\n");
  // The user's own modules import each other; a package's code imports the user's.
  EXPECT_TRUE(
      next("ImportError: cannot import name 'f' from partially initialized module 'a' (most "
           "likely due to a circular import) (/job/a.py)",
           {train, "    import a", "  File \"/job/a.py\", line 1, in <module>", "    import b",
            "  File \"/job/b.py\", line 1, in <module>", "    from a import f"})
          .ends_with("the modules import each other in a circle\n"));
  EXPECT_EQ(next("ValueError: boom",
                 {train, "    import x",
                  "  File \"/v/lib/python3.11/site-packages/x.py\", line 3, in <module>",
                  "    import plugin", "  File \"/job/plugin.py\", line 1, in <module>", "    x"}),
            "see /job/plugin.py, line 1\n");
}

TEST(Report, AmongTheLastLinesAreNoNotesOfPyTorchBeforeAnError) {
  model::WorkerExit exit = failed_exit();
  const std::string note =
      "[W1129 16:07:10.050693962 socket.cpp:207] [c10d] The hostname of the client socket cannot "
      "be retrieved. err=-3";
  exit.last_output = {note, "[rank3]:" + note, "[W] mine", "boom"};
  EXPECT_TRUE(failure_report(model::cause_of(exit), {}, "/l", {})
                  .contains("  last lines  [W] mine\n              boom\n"));
  exit.last_output = {note};
  EXPECT_TRUE(failure_report(model::cause_of(exit), {}, "/l", {}).contains("  last lines  [W1129"));
  EXPECT_TRUE(
      failure_report(model::cause_of(exit), {}, "", {})
          .contains("  next        the rank printed nothing of its own: look for the code"));
}

TEST(Report, OnATerminalTheErrorIsWrapped) {
  model::WorkerExit exit = failed_exit();
  exit.last_output = {"terminate called",
                      "  what():  [enforce fail at pair.cc:456] 12 vs 8. Received "
                      "data size doesn't match expected size. Is there a mismatch in your code?"};
  EXPECT_TRUE(
      failure_report(model::cause_of(exit), {}, "/l", {.columns = 80})
          .contains(
              "  last lines  terminate called\n"
              "                what():  [enforce fail at pair.cc:456] 12 vs 8. Received data\n"
              "              size doesn't match expected size. Is there a mismatch in your\n"
              "              code?\n"));
}

TEST(Report, OfALostRootTheLauncherTellsTheRest) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  LostRoot lost{"n0", "n[1-3]", "4 hosts", "ssh n0 true", ten_o_clock, ten_o_clock + 20s, 1};
  EXPECT_EQ(
      lost_root_report(lost, {}),
      "toprun: lost the connection to n0, where the job's root was\n"
      "  others      the ranks on n[1-3] are ended too: no other agent can take over from the "
      "root agent\n"
      "  next        ssh n0 true shows whether n0 is up; if it is not, start the job again "
      "without it\n");
  EXPECT_EQ(lost_root_line(lost),
            "toprun: 2026-11-21 10:00:00 → 10:00:20 (20.0 s): 4 hosts, lost the connection to n0, "
            "where the job's root was, exit code 1\n");
}

TEST(Report, WithoutFilesOfTheRanksTheErrorFileAndTheHintStay) {
  model::WorkerExit exit = failed_exit();
  exit.error_file = model::ErrorFile{"/logs/e.json", "", std::nullopt};
  EXPECT_EQ(failure_report(model::cause_of(exit), {}, "", {}),
            "toprun: rank 3 on n4 ended with exit code 7\n  rank        3: local rank 1 of n4, pid "
            "4711\n  error file  /logs/e.json\n  next        the rank printed nothing: look for "
            "the code that ends the rank with 7, such as sys.exit(7)\n");
}

TEST(Report, KilledRank) {
  model::WorkerExit exit = failed_exit();
  exit.exit_code = 0;
  exit.signal = SIGKILL;
  EXPECT_EQ(failure_report(model::cause_of(exit), {0, 1, 2}, "", {}),
            "toprun: rank 3 on n4 was killed by SIGKILL\n"
            "  rank        3: local rank 1 of n4, pid 4711\n"
            "  others      1 was stopped, 2 had ended with 0\n"
            "  next        toprun did not send it: look for the out-of-memory killer (dmesg on n4) "
            "or the scheduler's memory limit\n");
}

TEST(Report, ASignalThatEndsARankIsNotToprunS) {
  model::WorkerExit exit = failed_exit();
  exit.signal = SIGTERM;
  EXPECT_TRUE(failure_report(model::cause_of(exit), {}, "", {})
                  .contains("  next        toprun did not send it: look for what did on n4, "));
}

TEST(Report, RankThatTheKernelEndedForItsMemory) {
  model::WorkerExit exit = failed_exit();
  exit.exit_code = 0;
  exit.signal = SIGKILL;
  exit.kernel_evidence = "the kernel's out-of-memory killer ended it: Killed process 4711 (python)";
  EXPECT_EQ(
      failure_report(model::cause_of(exit), {0, 1, 0}, "", {}),
      "toprun: rank 3 on n4 was killed by SIGKILL\n"
      "  rank        3: local rank 1 of n4, pid 4711\n"
      "  kernel      the kernel's out-of-memory killer ended it: Killed process 4711 (python)\n"
      "  others      1 was stopped\n"
      "  next        use less memory per rank (batch size, data loader workers), or request more "
      "memory (Slurm: --mem)\n");
}

TEST(Report, SaysWhatToDoAboutAPyTorchWithoutMpi) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: Distributed package doesn't have MPI built in. MPI is only …";
  EXPECT_NE(failure_report(model::cause_of(exit), {}, "/logs", {})
                .find("this PyTorch has no MPI: use the backend"),
            std::string::npos);
}

TEST(Report, SaysWhatToDoAboutAPythonWithoutPyTorch) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "ModuleNotFoundError: No module named 'torch'";
  exit.program = "/env/bin/python";
  EXPECT_NE(
      failure_report(model::cause_of(exit), {}, "/logs", {}).find("/env/bin/python has no PyTorch"),
      std::string::npos);
}

TEST(Report, SaysWhatToDoAboutWhatIsMissing) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"ModuleNotFoundError: No module named 'einops'", "/env/bin/python3",
       "/env/bin/python3 does not find the module einops: install the module there, or choose "
       "another Python with --venv DIR or PYTHON_EXEC=PATH; for a module of your own, add its "
       "folder to PYTHONPATH"},
      {"ModuleNotFoundError: No module named 'a.b'", "bash",
       "its Python does not find the module a.b: install"},
      {"/env/bin/python3: No module named trainer", "/env/bin/python3",
       "/env/bin/python3 does not find the module trainer: install the module there, or choose "
       "another"},
      {"/env/bin/python3: Error while finding module specification for 'a.b' (ModuleNotFoundError: "
       "No "
       "module named 'a')",
       "/env/bin/python3", "/env/bin/python3 does not find the module a: install"},
      {"/env/bin/python3: No module named a.__main__; 'a' is a package and cannot be directly "
       "executed",
       "/env/bin/python3",
       "-m runs a module, or a package that has a __main__: give such a name, as in -m a.train"},
      {"ImportError: libcudart.so.12: cannot open shared object file", "/env/bin/python",
       "the rank's Python was /env/bin/python: choose another Python with --venv DIR or "
       "PYTHON_EXEC=PATH"},
      {"MemoryError", "python", "a limit or the host refused memory to the rank: use less"},
      {"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8. TiB", "python",
       "a limit or the host refused memory to the rank: use less"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "python",
       "the GPU had no memory left: use less memory per rank"},
      {"torch.cuda.OutOfMemoryError: CUDA out of memory.", "python",
       "the GPU had no memory left: use less memory per rank"},
      {"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total)",
       "python", "the GPU had no memory left: use less memory per rank"},
      {"RuntimeError: CUDA error: out of memory", "python",
       "the GPU had no memory left: use less memory per rank"},
      {"my.StepFailed: step 3: CUDA out of memory. Tried to allocate 2.00 GiB", "python",
       "the GPU had no memory left: use less memory per rank"},
      {"/env/bin/python3: Error while finding module specification for 'examples.pi.py' "
       "(ModuleNotFoundError: __path__ attribute not found on 'examples.pi' while trying to find "
       "'examples.pi.py'). Try using 'examples.pi' instead of 'examples.pi.py' as the module name.",
       "/env/bin/python3", "-m takes the name of a module, not of a file: write -m examples.pi"},
  };
  for (const auto& [exception, program, advice] : cases) {
    model::WorkerExit exit = failed_exit();
    exit.exception = exception;
    exit.program = program;
    for (const char* logs : {"/logs", ""}) {
      const std::string text = failure_report(model::cause_of(exit), {}, logs, {});
      EXPECT_TRUE(text.contains(fmt::format("  next        {}", advice))) << text;
    }
  }
  model::WorkerExit said = failed_exit();
  said.exception = "ValueError: no MemoryError, CUDA out of memory or No module named 'x'";
  EXPECT_FALSE(failure_report(model::cause_of(said), {}, "/logs", {}).contains("  next  "));
}

TEST(Report, WhereAProgramThatEndedByItselfIsLookedAt) {
  struct Case {
    std::vector<std::string> last_output;
    const char* logs;
    const char* advice;
  };
  const Case cases[] = {
      {{"bad step"},
       "",
       "the program ended by itself with 7: look for the code that ends it with 7, such as "
       "sys.exit(7), or for what prints the last line of its output"},
      {{"bad step"},
       "/logs",
       "the program ended by itself with 7: look for the code that ends it with 7, such as "
       "sys.exit(7), or for what prints the last line of its output"},
      {{}, "/logs", "the program ended by itself with 7: look for the code that ends it with 7"},
      {{}, "", "the rank printed nothing: look for the code that ends the rank with 7"},
  };
  for (const Case& one : cases) {
    model::WorkerExit exit = failed_exit();
    exit.last_output.clear();
    for (const std::string& line : one.last_output) exit.last_output.emplace_back(line);
    const std::string text = failure_report(model::cause_of(exit), {}, one.logs, {});
    EXPECT_TRUE(text.contains(fmt::format("  next        {}", one.advice))) << text;
  }
}

TEST(Report, AnAbortAfterAnUncaughtExceptionIsPythonSExit) {
  model::WorkerExit exit = failed_exit();
  exit.signal = SIGABRT;
  exit.exception = "AssertionError: Torch not compiled with CUDA enabled";
  exit.last_output = {"[rank3]: Traceback (most recent call last):",
                      "[rank3]:   File \"/job/mkd.py\", line 15, in <module>",
                      "[rank3]:     torch.zeros(1, device=\"cuda\")",
                      "[rank3]: AssertionError: Torch not compiled with CUDA enabled",
                      "terminate called without an active exception"};
  const std::string report = failure_report(model::cause_of(exit), {}, "", {});
  EXPECT_TRUE(report.starts_with(
      "toprun: rank 3 on n4 failed with AssertionError (and SIGABRT as Python exited)\n"))
      << report;
  EXPECT_TRUE(
      report.contains("  next        this PyTorch has no CUDA: use the CPU, or choose a "
                      "Python whose PyTorch has CUDA with --venv DIR or PYTHON_EXEC=PATH; "
                      "see /job/mkd.py, line 15\n"))
      << report;
  // Without PyTorch's prefix the program may have logged the exception, and gone on.
  model::WorkerExit logged = exit;
  logged.last_output = {
      "Traceback (most recent call last):", "  File \"/job/mkd.py\", line 15, in <module>",
      "AssertionError: Torch not compiled with CUDA enabled",
      "terminate called after throwing an instance of 'std::runtime_error'"};
  // A program that prints such a prefix has no frames with it.
  model::WorkerExit printed = exit;
  printed.last_output = {"[rank3]: AssertionError: Torch not compiled with CUDA enabled"};
  for (const model::WorkerExit& crashed : {logged, printed}) {
    const std::string text = failure_report(model::cause_of(crashed), {}, "", {});
    EXPECT_TRUE(text.starts_with("toprun: rank 3 on n4 was killed by SIGABRT (aborted)\n")) << text;
    EXPECT_TRUE(text.contains("PYTHONFAULTHANDLER=1")) << text;
  }
}

TEST(Report, ANameThatAModuleOfTheUserSLacksIsNoMatterOfThePython) {
  model::WorkerExit exit = failed_exit();
  exit.program = "/env/bin/python3";
  exit.last_output = {"  File \"/job/train.py\", line 1, in <module>"};
  for (const auto& [text, next] : std::vector<std::pair<const char*, const char*>>{
           {"ImportError: cannot import name 'f' from 'helper' (/job/helper.py)",
            "  next        see /job/train.py, line 1\n"},
           {"ImportError: cannot import name 'f' from partially initialized module 'helper' (most "
            "likely due to a circular import) (/job/helper.py)",
            "  next        see /job/train.py, line 1: the modules import each other in a circle\n"},
           {"ImportError: cannot import name 'f' from 'torch' "
            "(/env/lib/python3.11/site-packages/torch/__init__.py)",
            "  next        the rank's Python was /env/bin/python3: choose another"},
           {"ImportError: libcudart.so.12: cannot open shared object file",
            "  next        the rank's Python was /env/bin/python3: choose another"}}) {
    exit.exception = text;
    const std::string report = failure_report(model::cause_of(exit), {}, "", {});
    EXPECT_TRUE(report.contains(next)) << report;
  }
}

TEST(Report, TheCodeAgainstRestartsIsNoRiddle) {
  model::WorkerExit exit = failed_exit();
  exit.exception.clear();
  exit.exit_code = 93;
  const std::string next =
      "  next        the rank ended by itself with 93, which tells toprun not to restart";
  exit.last_output = {"loss is nan"};
  const std::string report = failure_report(model::cause_of(exit), {}, "", {});
  EXPECT_TRUE(report.contains(next + ": the last lines of its output may say why\n")) << report;
  exit.last_output.clear();
  const std::string silent = failure_report(model::cause_of(exit), {}, "", {});
  EXPECT_TRUE(silent.contains(next + "\n")) << silent;
}

TEST(Report, AnAbortWithoutAnErrorMayBePythonSExit) {
  model::WorkerExit exit = failed_exit();
  exit.program = "/env/bin/python3";
  exit.exception.clear();
  exit.signal = SIGABRT;
  exit.last_output = {"rank 3 step 4", "terminate called without an active exception"};
  const std::string report = failure_report(model::cause_of(exit), {}, "", {});
  EXPECT_TRUE(
      report.starts_with("toprun: rank 3 on n4 was killed by SIGABRT (aborted), perhaps as "
                         "Python exited\n"))
      << report;
  EXPECT_TRUE(report.contains("do the ranks have different numbers of steps?")) << report;
  EXPECT_TRUE(report.contains("DistributedDataParallel and Gloo add os._exit(0)")) << report;
  EXPECT_TRUE(report.contains("PYTHONFAULTHANDLER=1")) << report;
  model::WorkerExit flushed = exit;  // what Python had buffered comes behind
  for (int step = 5; step < 20; ++step) flushed.last_output.push_back(fmt::format("step {}", step));
  const std::string late = failure_report(model::cause_of(flushed), {}, "", {});
  EXPECT_TRUE(late.contains("  last lines  terminate called without an active exception\n"))
      << late;
  EXPECT_TRUE(late.contains("              step 19\n")) << late;
  // The line of another abort, a frame by faulthandler, and a program that is not Python.
  std::array<model::WorkerExit, 3> others{exit, exit, exit};
  others[0].last_output.back() = "terminate called after throwing an instance of 'c10::Error'";
  others[1].last_output.push_back("  File \"/job/train.py\", line 15 in step");
  others[2].program = "/job/train";
  for (const model::WorkerExit& crashed : others) {
    const std::string text = failure_report(model::cause_of(crashed), {}, "", {});
    EXPECT_TRUE(text.starts_with("toprun: rank 3 on n4 was killed by SIGABRT (aborted)\n")) << text;
    EXPECT_TRUE(text.contains("native code crashed")) << text;
  }
}

TEST(Report, SaysWhatToDoAboutAPyTorchWithoutNccl) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: Distributed package doesn't have NCCL built in";
  exit.program = "/env/bin/python3";
  EXPECT_TRUE(failure_report(model::cause_of(exit), {}, "/logs", {})
                  .contains("  next        the PyTorch of /env/bin/python3 has no NCCL: use the "
                            "backend gloo, or choose a Python"));
}

TEST(Report, OfDifferentSizesInACollectiveItSaysNothingOfNativeCode) {
  model::WorkerExit exit = failed_exit();
  exit.signal = SIGABRT;
  exit.last_output = {
      "terminate called after throwing an instance of 'gloo::EnforceNotMet'",
      "  what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 16 vs 8. "
      "Received data size doesn't match expected size."};
  model::Cause cause = model::cause_of(exit);
  cause.kind = model::CauseKind::mismatch;
  cause.message = "Gloo ended rank 3";
  std::string report = failure_report(cause, {}, "", {});
  EXPECT_TRUE(report.starts_with("toprun: ranks made different calls of a collective, as rank 3 "))
      << report;
  EXPECT_TRUE(report.contains("  reason      Gloo ended rank 3\n")) << report;
  EXPECT_TRUE(report.contains("  next        start the job again with TORCH_DISTRIBUTED_DEBUG"))
      << report;
  cause.message = "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is …";
  report = failure_report(cause, {}, "", {});
  EXPECT_TRUE(report.contains("  next        compare the two calls in the message\n")) << report;
}

TEST(Report, SaysWhatToDoAboutAScriptOfAnotherLauncher) {
  model::WorkerExit exit = failed_exit();
  exit.last_output = {
      "usage: train.py [-h] --local_rank LOCAL_RANK",
      "train.py: error: the following arguments are required: --data, --local_rank"};
  EXPECT_NE(failure_report(model::cause_of(exit), {}, "/logs", {})
                .find("  next        read LOCAL_RANK in the script, or write "
                      "--local_rank='${local_rank}' after the script: "),
            std::string::npos);
}

TEST(Report, FailureWithoutARank) {
  model::Cause cause = of_kind(model::CauseKind::node_lost);
  cause.node = "n4";
  cause.message = "nothing heard for 30 s";
  EXPECT_EQ(failure_report(cause, {0, 8, 0}, "", {.colour = true}),
            "\x1b[1;31mtoprun: node n4 was lost\x1b[0m\n"
            "  reason      nothing heard for 30 s\n"
            "  others      8 were stopped\n");
}

TEST(Report, AHangsReasonWasToldBefore) {
  model::Cause cause = of_kind(model::CauseKind::hang);
  cause.node = "n4";
  cause.message = "no rank has made progress for 60 s: rank 3 on n4 sleeps";
  EXPECT_EQ(failure_report(cause, {0, 8, 0}, "", {}),
            "toprun: the job hung\n"
            "  ranks       8 were stopped\n");
}

TEST(Report, SaysWhyADataLoadersWorkerDied) {
  model::WorkerExit exit = failed_exit();
  const std::string worker = "RuntimeError: DataLoader worker (pid 1857) is killed by signal: ";
  exit.exception = "RuntimeError: DataLoader worker (pid(s) 1857) exited unexpectedly\n" + worker;
  const auto report_of = [&](std::string_view signal) {
    model::WorkerExit one = exit;
    one.exception += signal;
    return failure_report(model::cause_of(one), {}, "/logs", {});
  };
  const std::string killed = report_of("Killed.");
  EXPECT_TRUE(killed.contains("is killed by signal: Killed.")) << killed;
  EXPECT_TRUE(killed.contains("out-of-memory killer")) << killed;
  const std::string bus = report_of("Bus error.");
  EXPECT_TRUE(bus.contains("df /dev/shm")) << bus;
  const std::string other = report_of("Segmentation fault.");
  EXPECT_FALSE(other.contains("/dev/shm")) << other;
}

TEST(Report, StaysShortAndNarrow) {
  model::WorkerExit exit = failed_exit();
  for (int i = 0; i < 50; ++i) {
    exit.exception += std::string(3000, 'e') + "\n";
    std::string umlauts;
    for (int j = 0; j < 300; ++j) umlauts += "ü";
    exit.last_output.push_back(umlauts);
  }
  const std::string report =
      failure_report(model::cause_of(exit), {1, 1, 1}, "/l", {.columns = 80});
  const auto lines = split(report, '\n');
  EXPECT_LE(lines.size(), 26u);  // the last is empty
  for (const std::string_view line : lines) {
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
}

TEST(Report, AStoppedRankThatHadFailedEndedByItsError) {
  model::WorkerExit exit = failed_exit();
  exit.ours = true;
  exit.signal = SIGTERM;
  exit.exception = "ValueError: boom";
  const model::Cause cause = model::cause_of(exit);
  EXPECT_EQ(cause.kind, model::CauseKind::exit);
  EXPECT_EQ(cause.exit_code, 1);
  EXPECT_FALSE(cause.signal);
}

TEST(Report, CountsTheOthers) {
  std::vector<model::WorkerExit> exits(5, failed_exit());
  exits[1].ours = true;
  exits[2].exit_code = 0;
  exits[3].exit_code = 0;
  const Others others = count_others(exits, &exits[0]);
  EXPECT_EQ(others.failed, 1);
  EXPECT_EQ(others.stopped, 1);
  EXPECT_EQ(others.ended, 2);
}

TEST(Report, WhatFailsAsTheCauseDidIsNotItsConsequence) {
  std::vector<model::WorkerExit> exits(3, failed_exit());
  for (model::WorkerExit& exit : exits) exit.exception = "ModuleNotFoundError: No module named 'x'";
  exits[1].ours = true;  // it had said so before it was stopped
  const Others others = count_others(exits, &exits[0]);
  EXPECT_EQ(others.alike, 2);
  EXPECT_EQ(others.failed + others.stopped, 0);
  const std::string report = failure_report(model::cause_of(exits[0]), others, "", {});
  EXPECT_NE(report.find("others      2 failed in the same way\n"), report.npos) << report;
}

TEST(Report, ArgumentsThatEveryRankRefusesAreOneFailure) {
  model::WorkerExit refused = failed_exit();
  refused.exit_code = 2;
  refused.last_output = {"usage: args.py [-h] [--epochs N]",
                         "args.py: error: unrecognized arguments: --epoch three"};
  const std::vector<model::WorkerExit> exits(3, refused);
  EXPECT_EQ(count_others(exits, &exits[0]).alike, 2);
  const std::string report =
      failure_report(model::cause_of(exits[0]), count_others(exits, &exits[0]), Outside(), {});
  EXPECT_TRUE(report.contains("it said     args.py: error: unrecognized arguments: --epoch three"))
      << report;
  EXPECT_TRUE(report.contains("2 failed in the same way")) << report;
  EXPECT_TRUE(report.contains("next        correct the arguments after the script")) << report;
}

TEST(Report, WhatHasAnotherErrorIsNotCalledAConsequence) {
  const auto others_of = [](const std::vector<model::WorkerExit>& exits) {
    const std::string report =
        failure_report(model::cause_of(exits[0]), count_others(exits, &exits[0]), "", {});
    const std::size_t start = report.find("others      ");
    return start == report.npos ? ""
                                : report.substr(start + 12, report.find('\n', start) - start - 12);
  };
  std::vector<model::WorkerExit> exits(5, failed_exit());
  for (int rank = 0; rank < 5; ++rank) exits[static_cast<std::size_t>(rank)].rank = rank;
  exits[0].exception = "FileNotFoundError: /data/0";
  exits[1].exception = "FileNotFoundError: /data/1";
  exits[2].exception = "RuntimeError: Connection closed by peer";
  exits[3].exception = "FileNotFoundError: /data/3";
  exits[3].ours = true;
  exits[4].exception = exits[2].exception;
  exits[4].ours = true;
  EXPECT_EQ(others_of(exits),
            "1 failed as a consequence, 1 failed with another error (rank 1: FileNotFoundError: "
            "/data/1), 2 were stopped (rank 3 had printed FileNotFoundError: /data/3)");
  exits.erase(exits.begin() + 1, exits.begin() + 3);
  EXPECT_EQ(others_of({exits[0], exits[1]}),
            "1 was stopped (rank 3 had printed FileNotFoundError: /data/3)");
  EXPECT_EQ(others_of({exits[0], exits[1], exits[1]}),
            "2 were stopped (rank 3 had printed FileNotFoundError: /data/3; rank 3 had printed "
            "FileNotFoundError: /data/3)");
  EXPECT_EQ(others_of({exits[0], exits[2]}), "1 was stopped");
}

TEST(Report, InFilesNothingIsCutAndOnATerminalBothEndsStay) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] " +
                   std::string(60, '.') + " Timed out waiting 20000ms for recv operation";
  exit.last_output = {"ValueError: " + std::string(200, '.') + " does not match the world size"};
  const std::string whole = failure_report(model::cause_of(exit), {}, "/l", {});
  EXPECT_NE(whole.find(exit.exception), whole.npos);
  EXPECT_NE(whole.find(exit.last_output[0]), whole.npos);
  const std::string cut = failure_report(model::cause_of(exit), {}, "/l", {.columns = 80});
  EXPECT_NE(cut.find("waiting 20000ms for recv operation"), cut.npos);
  EXPECT_NE(cut.find("does not match the world size"), cut.npos);
}

// As of `toprun bench`: the last line says what to do.
TEST(Report, AnInterfaceThatIsNotThereIsNoFaultOfTheScript) {
  model::WorkerExit exit = failed_exit();
  exit.exception =
      "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to "
      "find address for: eth9";
  const std::string gloo = advice(model::cause_of(exit), false);
  EXPECT_TRUE(gloo.starts_with("check GLOO_SOCKET_IFNAME: Gloo found no address for eth9 on n"))
      << gloo;
  exit.exception =
      "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, internal error\nLast "
      "error:\nBootstrap : no socket interface found";
  const std::string nccl = advice(model::cause_of(exit), false);
  EXPECT_TRUE(nccl.starts_with("check NCCL_SOCKET_IFNAME: NCCL found no")) << nccl;
}

TEST(Report, ARankThatIsToprunItselfNeedsNoAdvice) {
  model::WorkerExit exit = failed_exit();
  exit.exception.clear();
  exit.last_output = {"toprun: libnccl.so.2 was not found; choose another environment"};
  const auto report = [&] { return failure_report(model::cause_of(exit), {}, "", {}); };
  EXPECT_NE(report().find("  next  "), std::string::npos) << report();
  exit.program = "/proc/self/exe";
  EXPECT_EQ(report().find("  next  "), std::string::npos) << report();
}

TEST(Report, OfAMessageOfManyLinesTheFirstAndTheLastAreShown) {
  model::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: Error(s) in loading:\n1\n2\n3\n4\nit does not match";
  const std::string report = failure_report(model::cause_of(exit), {}, "/l", {});
  EXPECT_NE(report.find("RuntimeError: Error(s) in loading:"), report.npos);
  EXPECT_NE(report.find("… 2 more lines …"), report.npos);
  EXPECT_NE(report.find("it does not match"), report.npos);
}

// Every text that comes from outside, hostile.
TEST(Report, NoTextOfOthersWritesALineOrAColour) {
  const std::string evil = "x\x1b[31m\ntoprun: forged\r\a\xc2\x9b\u202e\u200b";
  model::Cause cause;
  cause.rank = 3;
  for (Outside* text : {&cause.program, &cause.node, &cause.error_file, &cause.kernel_evidence}) {
    *text = evil;
  }
  cause.message = evil + "No module named 'torch'";
  cause.last_output = {evil, evil};
  model::RunRecord run = two_nodes();
  run.exit_code = 7;
  run.attempts[0].nodes = {{evil, 0, 0, 8, evil, evil}};
  std::string all = join(model::order_table(*run.attempts[0].order, run.attempts[0].nodes), "\n");
  for (int kind = 0; kind <= static_cast<int>(model::CauseKind::requeued); ++kind) {
    cause.kind = static_cast<model::CauseKind>(kind);
    if (cause.kind == model::CauseKind::signal) cause.signal = SIGKILL;
    run.attempts[0].cause = cause;
    all += failure_report(cause, {}, evil, {}, evil) + last_line(run) + model::sentence(cause);
  }
  EXPECT_NE(all.find("x\\x1b[31m\\ntoprun: forged\\x0d"), std::string::npos);
  for (const std::string_view line : split(all, '\n')) {
    EXPECT_FALSE(line.starts_with("toprun: forged")) << line;
    EXPECT_EQ(printable(line), line);
  }
  EXPECT_EQ(model::cause_json(cause)["node"], evil);  // for programs it stays
}

TEST(Report, LastLine) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  model::RunRecord run = two_nodes();
  const std::string times = "toprun: 2026-11-21 10:00:00 → 10:03:20 (3 min 20 s): ";
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, all ended with 0\n");
  run.exit_code = model::exit_found;
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, exit code 3: something was found\n");

  model::WorkerExit exit = failed_exit();
  run.exit_code = 7;
  run.attempts[0].cause = model::cause_of(exit);
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, rank 3 on n4 ended with exit code 7\n");

  exit.signal = SIGSEGV;
  run.exit_code = 139;
  run.attempts[0].cause = model::cause_of(exit);
  EXPECT_EQ(last_line(run), times +
                                "16 ranks on 2 nodes, rank 3 on n4 was killed by SIGSEGV "
                                "(segmentation fault), exit code 139\n");

  run.exit_code = 130;
  run.attempts[0].cause = of_kind(model::CauseKind::interrupted);
  run.attempts[0].cause->signal = SIGINT;
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, interrupted by SIGINT, exit code 130\n");

  run.exit_code = 143;
  run.attempts[0].cause = of_kind(model::CauseKind::interrupted);
  run.attempts[0].cause->node = "n4";
  EXPECT_EQ(last_line(run),
            times + "16 ranks on 2 nodes, node n4 was asked to leave, exit code 143\n");

  run.exit_code = 1;
  run.attempts[0].cause = of_kind(model::CauseKind::hang);
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, the job hung, exit code 1\n");
  model::Hang& hang = run.attempts[0].hang.emplace();
  hang.verdict.groups = {{{}, {0, 1, 2}}, {{}, {3, 5}}};
  hang.verdict.groups[1].standing.frames = {{"step", "train.py", 88}};
  hang.verdict.suspects = {5};
  hang.suspected = {"n4"};
  EXPECT_EQ(last_line(run), times +
                                "16 ranks on 2 nodes, the job hung: rank 5 on n4, at train.py:88 "
                                "in step; exit code 1\n");

  run.exit_code = 143;
  run.attempts[0].cause = of_kind(model::CauseKind::interrupted);
  run.attempts[0].cause->signal = SIGTERM;
  EXPECT_EQ(last_line(run), times +
                                "16 ranks on 2 nodes, interrupted by SIGTERM while the job hung: "
                                "rank 5 on n4, at train.py:88 in step; exit code 143\n");
  hang.verdict.suspects.clear();
  EXPECT_EQ(
      last_line(run),
      times + "16 ranks on 2 nodes, interrupted by SIGTERM while the job hung, exit code 143\n");
  hang.over = ten_o_clock;
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, interrupted by SIGTERM, exit code 143\n");
  run.exit_code = 1;
  run.attempts[0].hang.reset();

  run.attempts[0].nodes.clear();
  run.attempts[0].cause = of_kind(model::CauseKind::join_timeout);
  run.ended = ten_o_clock + 24h;
  EXPECT_EQ(last_line(run),
            "toprun: 2026-11-21 10:00:00 → 2026-11-22 10:00:00 (24 h 00 min): no rank started, too "
            "few nodes joined in time, exit code 1\n");

  model::RunRecord lacking = run;
  lacking.exit_code = 2;
  lacking.attempts[0].nodes = two_nodes().attempts.front().nodes;
  lacking.attempts[0].started_no_rank = true;
  lacking.attempts[0].cause = of_kind(model::CauseKind::launcher);
  lacking.attempts[0].cause->message =
      "script t.py on n1: No such file or directory; check the path";
  EXPECT_TRUE(last_line(lacking).ends_with(
      ": no rank started: script t.py on n1: No such file or directory, exit code 2\n"))
      << last_line(lacking);

  run.attempts.insert(run.attempts.begin(), two_nodes().attempts.front());
  EXPECT_TRUE(last_line(run).contains(": 16 ranks on 2 nodes, too few nodes joined in time"))
      << last_line(run);
}

TEST(Report, TheLastLineTellsWhatWentBefore) {
  model::RunRecord run = two_nodes();
  const auto ended = [&] { return last_line(run).substr(last_line(run).find("all ended")); };
  const auto before = [&](model::CauseKind kind, std::string_view node) {
    model::AttemptRecord attempt = run.attempts.back();
    attempt.cause = of_kind(kind);
    attempt.cause->node = std::string(node);
    run.attempts.insert(run.attempts.end() - 1, std::move(attempt));
  };
  before(model::CauseKind::node_lost, "n2");
  EXPECT_EQ(ended(), "all ended with 0 after 1 new attempt (n2 was lost)\n");
  before(model::CauseKind::grown, "");
  before(model::CauseKind::agent_lost, "n2");
  EXPECT_EQ(ended(), "all ended with 0 after 3 new attempts (n2 was lost, more nodes came)\n");
  before(model::CauseKind::exit, "n1");
  run.restarts = 1;
  EXPECT_EQ(ended(),
            "all ended with 0 after 1 restart and 3 new attempts (n2 was lost, more nodes came)\n");
  run.attempts.erase(run.attempts.begin(), run.attempts.begin() + 3);
  EXPECT_EQ(ended(), "all ended with 0 after 1 restart\n");
  run.attempts.back().interrupted = model::Interruption{.signal = SIGTERM};
  EXPECT_EQ(ended(), "all ended with 0 after 1 restart and SIGTERM\n");
}

TEST(Report, KeepsTheEndsOfEarlierRuns) {
  model::RunRecord run = two_nodes();
  run.exit_code = 75;
  run.attempts[0].cause = of_kind(model::CauseKind::requeued);
  run.attempts[0].cause->message = "Slurm requeued the job";
  run.earlier = model::earlier_runs(json_text(model::report_json(run)));
  ASSERT_EQ(run.earlier.size(), 1u);
  const json written = model::report_json(run)["earlier"][0];
  EXPECT_EQ(written["exit_code"], 75);
  EXPECT_EQ(written["started"], rfc3339(run.started));
  EXPECT_EQ(written["ended"], rfc3339(run.ended));
  EXPECT_EQ(
      written["cause"],
      (json{{"kind", "requeued"}, {"what", "requeued"}, {"message", "Slurm requeued the job"}}));
  // Each is kept by the next, and the oldest go.
  for (std::size_t i = 0; i < 2 * model::most_earlier_runs; ++i) {
    run.exit_code = static_cast<int>(i);
    run.earlier = model::earlier_runs(json_text(model::report_json(run)));
  }
  EXPECT_EQ(run.earlier.size(), model::most_earlier_runs);
  EXPECT_EQ(run.earlier.back().exit_code, 2 * model::most_earlier_runs - 1);
  for (const char* odd : {"", "{}", "[1]", R"({"schema":"other"})"}) {
    EXPECT_TRUE(model::earlier_runs(odd).empty()) << odd;
  }
  EXPECT_EQ(
      model::earlier_runs(R"({"schema":"toprun.report/1","attempts":7,"earlier":"x"})").size(), 1u);
}

TEST(Report, OrderTable) {
  const model::RunRecord run = two_nodes();
  std::vector<model::NodeRecord> nodes = run.attempts[0].nodes;
  nodes.push_back({"long-name", 2, 16, 1, "/c/r1/long-name"});
  nodes.push_back({"n9", 3, 17, 0, ""});
  EXPECT_EQ(model::order_table(*run.attempts[0].order, nodes),
            (std::vector<std::string>{
                "order: topology (evidence from t)",
                "  ranks  node       place",
                "  0-7    n1         /c/r1/n1",
                "  8-15   n2         unknown",
                "  16     long-name  /c/r1/long-name",
                "  none   n9         unknown",
                "t tells n1",
                "rack: 2 of 4 neighbours in another rack as given, 2 as ordered (minimum 2)",
            }));
}

TEST(Report, Json) {
  model::RunRecord run = two_nodes();
  run.root_host = "n1";
  run.root_pid = 4711;
  EXPECT_EQ(model::report_json(run), nlohmann::json::parse(R"({
    "schema": "toprun.report/1", "job": "job1", "title": null, "program": null,
    "root": {"host": "n1", "pid": 4711},
    "grow": null, "exit_code": 0, "restarts": 0, "max_restarts": 0, "spares": [], "lost_spares": [], "gathering": null,
    "started": "2026-11-21T10:00:00.000Z", "ended": "2026-11-21T10:03:20.000Z",
    "updated": "2026-11-21T10:03:20.000Z",
    "attempts": [{
      "attempt": 0, "started": "2026-11-21T10:00:00.000Z", "ended": "2026-11-21T10:03:20.000Z",
      "phases_ms": {"join": 12, "order": null, "stage": null, "spawn": null, "import": null, "first_connect": null,
                    "last_connect": null, "first_collective": null},
      "slowest": {"join": {"node": "n2", "rank": null, "ms": 12, "median_ms": 3, "counted": 2},
                  "stage": null, "warm": null, "prefetch": null, "spawn": null, "import": null,
                  "first_collective": null},
      "awaited": null, "hang": null,
      "nodes": [
        {"name": "n1", "group_rank": 0, "first_rank": 0, "nproc": 8, "location": "/c/r1/n1",
         "logs": "/l/job1_x"},
        {"name": "n2", "group_rank": 1, "first_rank": 8, "nproc": 8, "location": null, "logs": null}],
      "order": {"name": "topology", "why": "evidence from t", "source": "t",
                "ring": [{"level": "rack", "given": 2, "ordered": 2, "minimum": 2}],
                "unplaced": ["n2"], "warnings": ["n2 is unknown"], "notes": ["t tells n1"], "verified": true},
      "network": [], "interrupted": null,
      "lost_nodes": [], "failed_too": [], "cause": null}]})"));

  run.attempts[0].networks = {{"n1", {{"IB"}, 8, 7, {"mlx5_0:1 sent 1 MB"}, {"2.27.3"}}}};
  EXPECT_EQ(model::report_json(run)["attempts"][0]["network"], nlohmann::json::parse(R"([
    {"node": "n1", "networks": ["IB"], "ranks": 8, "gpu_direct": 7,
     "nccl": ["2.27.3"], "troubles": ["mlx5_0:1 sent 1 MB"]}])"));

  run.attempts[0].lost_nodes = {{"n2", run.ended, "it was silent"}};
  const nlohmann::json with_loss = model::report_json(run);
  EXPECT_EQ(with_loss["attempts"][0]["lost_nodes"], nlohmann::json::parse(R"([
    {"node": "n2", "at": "2026-11-21T10:03:20.000Z", "why": "it was silent"}])"));
  EXPECT_EQ(model::record_in(with_loss).attempts[0].lost_nodes[0].node, "n2");

  model::WorkerExit exit = failed_exit();
  exit.exception = "ValueError: boom";
  exit.last_output = {"a"};
  run.attempts[0].cause = model::cause_of(exit);
  EXPECT_EQ(model::report_json(run)["attempts"][0]["cause"], nlohmann::json::parse(R"({
    "kind": "exit", "what": "rank 3 on n4 ended with exit code 7", "rank": 3, "local_rank": 1,
    "node": "n4", "exit_code": 7, "signal": null,
    "message": "ValueError: boom", "next": null, "error_file": null, "last_output": ["a"],
    "kernel_evidence": null})"));
}

TEST(Report, JsonOfRanksThatFailedToo) {
  std::vector<model::WorkerExit> exits;
  const auto add = [&](int rank, int code, std::string exception) -> model::WorkerExit& {
    model::WorkerExit& exit = exits.emplace_back();
    exit.rank = rank;
    exit.exit_code = code;
    exit.exception = std::move(exception);
    return exit;
  };
  add(0, 5, "ValueError: first");
  add(3, 5, "ValueError: no data\nmore");
  add(1, 5, "ValueError: no data");
  add(2, 0, "");
  add(4, 1, "RuntimeError: Connection closed by peer [127.0.0.1]:1");
  add(5, 1, "RuntimeError: Connection closed by peer [127.0.0.1]:2");
  add(6, 1, "").ours = true;
  add(7, 0, "").signal = 11;
  add(8, 0, "").signal = 15;
  model::WorkerExit& stopped = add(9, 0, "KeyError: 'label'");
  stopped.signal = 9;
  stopped.ours = true;
  model::RunRecord run = two_nodes();
  run.attempts[0].failed_too = model::failed_too(exits, 0, 15);
  const nlohmann::json report = model::report_json(run);
  EXPECT_EQ(report["attempts"][0]["failed_too"], nlohmann::json::parse(R"([
    {"ranks": "1,3", "exit_code": 5, "signal": null, "lost_peer": false, "stopped": false, "message": "ValueError: no data"},
    {"ranks": "4-5", "exit_code": 1, "signal": null, "lost_peer": true, "stopped": false,
     "message": "RuntimeError: Connection closed by peer [127.0.0.1]:1"},
    {"ranks": "7", "exit_code": null, "signal": 11, "lost_peer": false, "stopped": false, "message": null},
    {"ranks": "9", "exit_code": null, "signal": 9, "lost_peer": false, "stopped": true,
     "message": "KeyError: 'label'"}])"));
  const model::RunRecord read = model::record_in(report);
  EXPECT_EQ(model::report_json(read)["attempts"][0]["failed_too"],
            report["attempts"][0]["failed_too"]);

  exits.clear();
  for (int rank = 0; rank < 20; ++rank) add(rank, 1, fmt::format("ValueError: {}", rank));
  const auto many = model::failed_too(exits, std::nullopt, 0);
  ASSERT_EQ(many.size(), model::most_failed_too);
  EXPECT_EQ(many.back().ranks, (std::vector<int>{15, 16, 17, 18, 19}));
  EXPECT_EQ(many.back().exit_code, std::nullopt);

  exits[3].ours = true;
  const auto without_the_stopped = model::failed_too(exits, std::nullopt, 0);
  EXPECT_EQ(without_the_stopped.back().ranks, (std::vector<int>{16, 17, 18, 19}));
  EXPECT_FALSE(without_the_stopped.back().stopped);
}

TEST(Report, JsonOfARunThatGoesOn) {
  model::RunRecord run = two_nodes();
  run.running_at = run.started + std::chrono::seconds(5);
  const auto json = model::report_json(run);
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_TRUE(json["ended"].is_null());
  EXPECT_EQ(json["updated"], "2026-11-21T10:00:05.000Z");
  run.grow = "on-signal";
  EXPECT_EQ(model::report_json(run)["grow"], "on-signal");
  run.title = "bigrun";
  run.program = "train.py";
  EXPECT_EQ(model::report_json(run)["title"], "bigrun");
  EXPECT_EQ(model::report_json(run)["program"], "train.py");
}

}  // namespace
}  // namespace toprun::report
