#include "view/report.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ctime>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace toprun::view {
namespace {

using namespace std::chrono_literals;

const WallTime ten_o_clock{std::chrono::seconds(1795255200)};  // 2026-11-21 10:00:00 UTC

agent::WorkerExit failed_exit() {
  agent::WorkerExit exit;
  exit.host = "n4";
  exit.rank = 3;
  exit.local_rank = 1;
  exit.pid = 4711;
  exit.exit_code = 7;
  return exit;
}

Cause of_kind(CauseKind kind) {
  Cause cause;
  cause.kind = kind;
  return cause;
}

RunRecord two_nodes() {
  RunRecord run;
  run.job = "job1";
  run.started = ten_o_clock;
  run.ended = ten_o_clock + 200s;
  AttemptRecord attempt;
  attempt.started = run.started;
  attempt.ended = run.ended;
  attempt.phases.join = 12ms;
  attempt.spreads.join = {2, 3ms, 12ms, std::nullopt, "n2"};
  attempt.nodes = {{"n1", 0, 0, 8, "/c/r1/n1", "/l/job1_x"}, {"n2", 1, 8, 8, ""}};
  attempt.order =
      OrderRecord{"topology",        "evidence from t", "t", {{"rack", 2, 2, 2}}, {"n2"},
                  {"n2 is unknown"}, {"t tells n1"},    true};
  run.attempts = {attempt};
  return run;
}

TEST(Report, FailureOfARank) {
  agent::WorkerExit exit = failed_exit();
  exit.exception = "ValueError: boom\nmore of it";
  exit.last_output = {"Traceback (most recent call last):", "  File \"t.py\", line 1",
                      "ValueError: boom"};
  exit.error_file = agent::ErrorFile{"/logs/e.json", "", std::nullopt};
  EXPECT_EQ(failure_report(cause_of(exit), {2, 13, 0}, "/logs/attempt_0/1/stderr.log", {}),
            "toprun: rank 3 on n4 ended with exit code 7\n"
            "  rank        3: local rank 1 of n4, pid 4711\n"
            "  it said     ValueError: boom\n"
            "              more of it\n"
            "  last lines  Traceback (most recent call last):\n"
            "                File \"t.py\", line 1\n"
            "              ValueError: boom\n"
            "  others      2 failed as a consequence, 13 were stopped\n"
            "  error file  /logs/e.json\n"
            "  logs        /logs/attempt_0/1/stderr.log on n4\n");
}

TEST(Report, WithoutFilesOfTheRanksTheErrorFileAndTheHintStay) {
  agent::WorkerExit exit = failed_exit();
  exit.error_file = agent::ErrorFile{"/logs/e.json", "", std::nullopt};
  EXPECT_EQ(failure_report(cause_of(exit), {}, "", {}),
            "toprun: rank 3 on n4 ended with exit code 7\n"
            "  rank        3: local rank 1 of n4, pid 4711\n"
            "  error file  /logs/e.json\n"
            "  next        it printed nothing; --log-dir DIR --tee 3 keeps all output\n");
}

TEST(Report, KilledRank) {
  agent::WorkerExit exit = failed_exit();
  exit.exit_code = 0;
  exit.signal = SIGKILL;
  EXPECT_EQ(failure_report(cause_of(exit), {0, 1, 2}, "", {}),
            "toprun: rank 3 on n4 was killed by SIGKILL (killed)\n"
            "  rank        3: local rank 1 of n4, pid 4711\n"
            "  others      1 was stopped, 2 had ended with 0\n"
            "  next        toprun did not send it: look for the out-of-memory killer (dmesg on n4) "
            "or the scheduler's memory limit\n");
}

TEST(Report, RankThatTheKernelEndedForItsMemory) {
  agent::WorkerExit exit = failed_exit();
  exit.exit_code = 0;
  exit.signal = SIGKILL;
  exit.kernel_evidence = "the kernel's out-of-memory killer ended it: Killed process 4711 (python)";
  EXPECT_EQ(
      failure_report(cause_of(exit), {0, 1, 0}, "", {}),
      "toprun: rank 3 on n4 was killed by SIGKILL (killed)\n"
      "  rank        3: local rank 1 of n4, pid 4711\n"
      "  kernel      the kernel's out-of-memory killer ended it: Killed process 4711 (python)\n"
      "  others      1 was stopped\n"
      "  next        use less memory per rank (batch size, data loader workers), or ask for "
      "more (Slurm: --mem)\n");
}

TEST(Report, SaysWhatToDoAboutAPyTorchWithoutMpi) {
  agent::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: Distributed package doesn't have MPI built in. MPI is only …";
  EXPECT_NE(
      failure_report(cause_of(exit), {}, "/logs", {}).find("this PyTorch has no MPI: use backend"),
      std::string::npos);
}

TEST(Report, SaysWhatToDoAboutAPythonWithoutPyTorch) {
  agent::WorkerExit exit = failed_exit();
  exit.exception = "ModuleNotFoundError: No module named 'torch'";
  exit.program = "/env/bin/python";
  EXPECT_NE(failure_report(cause_of(exit), {}, "/logs", {}).find("/env/bin/python has no PyTorch"),
            std::string::npos);
}

TEST(Report, SaysWhatToDoAboutAScriptOfAnotherLauncher) {
  agent::WorkerExit exit = failed_exit();
  exit.last_output = {
      "usage: train.py [-h] --local_rank LOCAL_RANK",
      "train.py: error: the following arguments are required: --data, --local_rank"};
  EXPECT_NE(failure_report(cause_of(exit), {}, "/logs", {})
                .find("  next        read LOCAL_RANK in the script, or behind it write "
                      "--local_rank='${local_rank}': "),
            std::string::npos);
}

TEST(Report, FailureWithoutARank) {
  Cause cause = of_kind(CauseKind::node_lost);
  cause.node = "n4";
  cause.message = "nothing heard for 30 s";
  EXPECT_EQ(failure_report(cause, {0, 8, 0}, "", {.colour = true}),
            "\x1b[1;31mtoprun: node n4 was lost\x1b[0m\n"
            "  reason      nothing heard for 30 s\n"
            "  others      8 were stopped\n");
}

TEST(Report, StaysShortAndNarrow) {
  agent::WorkerExit exit = failed_exit();
  for (int i = 0; i < 50; ++i) {
    exit.exception += std::string(3000, 'e') + "\n";
    std::string umlauts;
    for (int j = 0; j < 300; ++j) umlauts += "ü";
    exit.last_output.push_back(umlauts);
  }
  const std::string report = failure_report(cause_of(exit), {1, 1, 1}, "/l", {.columns = 80});
  const auto lines = split(report, '\n');
  EXPECT_LE(lines.size(), 26u);  // the last is empty
  for (const std::string_view line : lines) {
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
}

TEST(Report, AStoppedRankThatHadFailedEndedByItsError) {
  agent::WorkerExit exit = failed_exit();
  exit.ours = true;
  exit.signal = SIGTERM;
  exit.exception = "ValueError: boom";
  const Cause cause = cause_of(exit);
  EXPECT_EQ(cause.kind, CauseKind::exit);
  EXPECT_EQ(cause.exit_code, 1);
  EXPECT_FALSE(cause.signal);
}

TEST(Report, CountsTheOthers) {
  std::vector<agent::WorkerExit> exits(5, failed_exit());
  exits[1].ours = true;
  exits[2].exit_code = 0;
  exits[3].exit_code = 0;
  const Others others = count_others(exits, &exits[0]);
  EXPECT_EQ(others.failed, 1);
  EXPECT_EQ(others.stopped, 1);
  EXPECT_EQ(others.ended, 2);
}

TEST(Report, InFilesNothingIsCutAndOnATerminalBothEndsStay) {
  agent::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] " +
                   std::string(60, '.') + " Timed out waiting 20000ms for recv operation";
  exit.last_output = {"ValueError: " + std::string(200, '.') + " does not match the world size"};
  const std::string whole = failure_report(cause_of(exit), {}, "/l", {});
  EXPECT_NE(whole.find(exit.exception), whole.npos);
  EXPECT_NE(whole.find(exit.last_output[0]), whole.npos);
  const std::string cut = failure_report(cause_of(exit), {}, "/l", {.columns = 80});
  EXPECT_NE(cut.find("waiting 20000ms for recv operation"), cut.npos);
  EXPECT_NE(cut.find("does not match the world size"), cut.npos);
}

TEST(Report, OfAMessageOfManyLinesTheFirstAndTheLastAreShown) {
  agent::WorkerExit exit = failed_exit();
  exit.exception = "RuntimeError: Error(s) in loading:\n1\n2\n3\n4\nit does not match";
  const std::string report = failure_report(cause_of(exit), {}, "/l", {});
  EXPECT_NE(report.find("RuntimeError: Error(s) in loading:"), report.npos);
  EXPECT_NE(report.find("… 2 more lines …"), report.npos);
  EXPECT_NE(report.find("it does not match"), report.npos);
}

// Every text that comes from outside, hostile.
TEST(Report, NoTextOfOthersWritesALineOrAColour) {
  const std::string evil = "x\x1b[31m\ntoprun: forged\r\a\xc2\x9b\u202e\u200b";
  Cause cause;
  cause.rank = 3;
  for (Outside* text : {&cause.program, &cause.node, &cause.error_file, &cause.kernel_evidence}) {
    *text = evil;
  }
  cause.message = evil + "No module named 'torch'";
  cause.last_output = {evil, evil};
  RunRecord run = two_nodes();
  run.exit_code = 7;
  run.attempts[0].nodes = {{evil, 0, 0, 8, evil, evil}};
  std::string all = join(order_table(*run.attempts[0].order, run.attempts[0].nodes), "\n");
  for (int kind = 0; kind <= static_cast<int>(CauseKind::grown); ++kind) {
    cause.kind = static_cast<CauseKind>(kind);
    if (cause.kind == CauseKind::signal) cause.signal = SIGKILL;
    run.attempts[0].cause = cause;
    all += failure_report(cause, {}, evil, {}, evil) + last_line(run) + sentence(cause);
  }
  EXPECT_NE(all.find("x\\x1b[31m\\ntoprun: forged\\x0d"), std::string::npos);
  for (const std::string_view line : split(all, '\n')) {
    EXPECT_FALSE(line.starts_with("toprun: forged")) << line;
    EXPECT_EQ(printable(line), line);
  }
  EXPECT_EQ(cause_json(cause)["node"], evil);  // for programs it stays
}

TEST(Report, LastLine) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  RunRecord run = two_nodes();
  const std::string times = "toprun: 2026-11-21 10:00:00 → 10:03:20 (3 min 20 s): ";
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, all ended with 0\n");

  agent::WorkerExit exit = failed_exit();
  run.exit_code = 7;
  run.attempts[0].cause = cause_of(exit);
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, rank 3 on n4 ended with exit code 7\n");

  exit.signal = SIGSEGV;
  run.exit_code = 139;
  run.attempts[0].cause = cause_of(exit);
  EXPECT_EQ(last_line(run), times +
                                "16 ranks on 2 nodes, rank 3 on n4 was killed by SIGSEGV "
                                "(segmentation fault), exit code 139\n");

  run.exit_code = 130;
  run.attempts[0].cause = of_kind(CauseKind::interrupted);
  run.attempts[0].cause->signal = SIGINT;
  EXPECT_EQ(last_line(run), times + "16 ranks on 2 nodes, interrupted by SIGINT, exit code 130\n");

  run.exit_code = 1;
  run.attempts[0].nodes.clear();
  run.attempts[0].cause = of_kind(CauseKind::join_timeout);
  run.ended = ten_o_clock + 24h;
  EXPECT_EQ(last_line(run),
            "toprun: 2026-11-21 10:00:00 → 2026-11-22 10:00:00 (24 h 00 min): no rank started, not "
            "all nodes joined in time, exit code 1\n");
}

TEST(Report, OrderTable) {
  const RunRecord run = two_nodes();
  std::vector<NodeRecord> nodes = run.attempts[0].nodes;
  nodes.push_back({"long-name", 2, 16, 1, "/c/r1/long-name"});
  nodes.push_back({"n9", 3, 17, 0, ""});
  EXPECT_EQ(order_table(*run.attempts[0].order, nodes),
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
  RunRecord run = two_nodes();
  run.root_host = "n1";
  run.root_pid = 4711;
  EXPECT_EQ(report_json(run), nlohmann::json::parse(R"({
    "schema": "toprun.report/1", "job": "job1", "root": {"host": "n1", "pid": 4711},
    "grow": null, "exit_code": 0,
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
      "network": [],
      "cause": null}]})"));

  run.attempts[0].networks = {{"n1", {{"IB"}, 8, 7, {"mlx5_0:1 sent 1 MB"}, {"2.27.3"}}}};
  EXPECT_EQ(report_json(run)["attempts"][0]["network"], nlohmann::json::parse(R"([
    {"node": "n1", "networks": ["IB"], "ranks": 8, "gpu_direct": 7,
     "nccl": ["2.27.3"], "troubles": ["mlx5_0:1 sent 1 MB"]}])"));

  agent::WorkerExit exit = failed_exit();
  exit.exception = "ValueError: boom";
  exit.last_output = {"a"};
  run.attempts[0].cause = cause_of(exit);
  EXPECT_EQ(report_json(run)["attempts"][0]["cause"], nlohmann::json::parse(R"({
    "kind": "exit", "what": "rank 3 on n4 ended with exit code 7", "rank": 3, "local_rank": 1,
    "node": "n4", "exit_code": 7, "signal": null,
    "message": "ValueError: boom", "error_file": null, "last_output": ["a"],
    "kernel_evidence": null})"));
}

TEST(Report, JsonOfARunThatGoesOn) {
  RunRecord run = two_nodes();
  run.running_at = run.started + std::chrono::seconds(5);
  const auto json = report_json(run);
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_TRUE(json["ended"].is_null());
  EXPECT_EQ(json["updated"], "2026-11-21T10:00:05.000Z");
  run.grow = "on-signal";
  EXPECT_EQ(report_json(run)["grow"], "on-signal");
}

}  // namespace
}  // namespace toprun::view
