#include "observe/snapshot/metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace toprun::snapshot {
namespace {

using namespace std::chrono_literals;

Run run() {
  model::AttemptRecord attempt;
  attempt.nodes = {{"n0", 0, 0, 2, ""}};
  attempt.phases.join = 41ms;
  Run run;
  run.record = {"a \"job\"\n\\", "n0", 4711, {}, 0, WallTime(100s), {}, {attempt, attempt}, 1};
  run.record.attempts.back().attempt = 1;
  run.record.running_at = WallTime(200s);
  run.id = "17";
  run.stage = "running";
  run.max_restarts = 3;
  run.joined = 1;
  return run;
}

Board board(std::size_t ranks) {
  Board board;
  board.begin(1, ranks);
  board.started({0, 0, ranks});
  meter::Node usage;
  usage.host = {16, 3.5, 7, 9, 1e6, std::nullopt};
  usage.ranks = {{0.25, 5, 1'500ms, meter::Gpu{97, 7, 9}, "step 41 of Ada"},
                 {{}, {}, {}, {}, "step 40"}};
  board.measured({0, 0, ranks}, usage, {});
  return board;
}

constexpr MetricsForm open = MetricsForm::openmetrics;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, NameTheJobAsItsUserDoes) {
  auto job = run();
  job.record.job = "0e2f4a1c-5d34-4f6b-9e1a-1c2d3e4f5a6b";
  job.id.clear();
  job.record.program = "/home/ada/train.py";
  const auto info = [&] { return metrics_text(job, board(2), {}, open); };
  const std::string rest = R"(",id="",program="/home/ada/train.py",root="n0"} 1)";
  EXPECT_TRUE(has_line(info(), R"(toprun_job_info{name="train.py)" + rest)) << info();
  job.record.title = "big run";
  EXPECT_TRUE(has_line(info(), R"(toprun_job_info{name="big run)" + rest)) << info();
}

TEST(Metrics, NameWhatIsKnown) {
  const std::string text = metrics_text(run(), board(2), {{1}, {0}}, open);
  for (const char* line : {
           R"(toprun_job_info{name="a \"job\"\\n\\",id="17",program="",root="n0"} 1)",
           R"(toprun_stage{toprun_stage="running"} 1)",
           R"(toprun_stage{toprun_stage="over"} 0)",
           "toprun_start_time_seconds 100",
           "toprun_attempts_total 2",
           "toprun_restarts_total 1",
           R"(toprun_phase_seconds{phase="join"} 0.041)",
           R"(toprun_ranks{state="running"} 0)",
           R"(toprun_ranks{state="blocked"} 1)",
           R"(toprun_ranks{state="suspect"} 1)",
           "toprun_step 41",
           R"(toprun_node_cpus_busy{node="n0"} 3.5)",
           R"(toprun_node_receive_bytes_per_second{node="n0"} 1000000)",
           R"(toprun_rank_silence_seconds{rank="0",node="n0"} 1.5)",
           R"(toprun_rank_gpu_busy_ratio{rank="0",node="n0"} 0.97)",
       }) {
    EXPECT_TRUE(has_line(text, line)) << line << "\nin\n" << text;
  }
  EXPECT_FALSE(text.contains("Ada")) << "text of the ranks is in no metric";
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(Metrics, HaveTheFormThatTheClientReads) {
  constexpr std::string_view prometheus =
      "application/openmetrics-text;version=1.0.0,application/"
      "openmetrics-text;version=0.0.1;q=0.75,"
      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
  EXPECT_EQ(metrics_form(prometheus), MetricsForm::openmetrics);
  for (const std::string_view accept : {"", "*/*", "text/plain;version=0.0.4"}) {
    EXPECT_EQ(metrics_form(accept), MetricsForm::classic) << accept;
  }
  const std::string text = metrics_text(run(), board(2), {{1}, {0}}, MetricsForm::classic);
  for (const char* line :
       {"# TYPE toprun_job_info gauge", "# TYPE toprun_attempts_total counter",
        "toprun_attempts_total 2", "# HELP toprun_restarts_total Attempts that followed a failure.",
        "# TYPE toprun_stage gauge", R"(toprun_stage{toprun_stage="running"} 1)"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\nin\n" << text;
  }
  for (const char* word : {"# UNIT", "# EOF", "stateset", "info\n"}) {
    EXPECT_FALSE(text.contains(word)) << word;
  }
}

TEST(Metrics, SayNothingOfWhatIsNot) {
  const std::string text = metrics_text(run(), board(2), {}, open);
  EXPECT_EQ(text.find("toprun_node_transmit_bytes_per_second{"), std::string::npos);
  EXPECT_EQ(text.find(R"({rank="1")"), std::string::npos);
  EXPECT_EQ(text.find(R"({phase="order")"), std::string::npos);
}

TEST(Metrics, OfManyRanksHaveSeriesOfNodesOnly) {
  const std::string text = metrics_text(run(), board(most_ranks_with_series + 1), {}, open);
  EXPECT_NE(text.find("toprun_node_cpus{"), std::string::npos);
  EXPECT_EQ(text.find("toprun_rank_"), std::string::npos);
}

TEST(Metrics, OfARunWithoutAttemptsAreWhole) {
  EXPECT_TRUE(metrics_text(snapshot::Run(), Board(), {{3, -1}, {}}, open).ends_with("# EOF\n"));
}

}  // namespace
}  // namespace toprun::snapshot
