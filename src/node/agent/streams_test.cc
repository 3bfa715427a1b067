#include "node/agent/streams.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/os/os_testing.h"

namespace toprun::agent {
namespace {

TEST(StreamPlan, IsTorchruns) {
  plan::StreamMap first_only;
  first_only.by_local_rank[0] = stdout_stream;
  const plan::StreamMap both{stdout_stream | stderr_stream, {}};
  struct Case {
    const char* name;
    plan::StreamMap redirects;
    plan::StreamMap tee;
    std::optional<std::vector<int>> filter;
    int local_rank;
    plan::StreamSet stream;
    bool console;
    bool file;
    bool filtered;
    std::string prefix;
  };
  const std::vector<Case> cases = {
      {"plain", {}, {}, {}, 0, stdout_stream, true, false, false, ""},
      {"redirected", both, {}, {}, 0, stderr_stream, false, true, false, ""},
      {"tee'd", {}, both, {}, 1, stderr_stream, true, true, true, "[t1]:"},
      {"both", both, both, {}, 0, stdout_stream, true, true, true, "[t0]:"},
      {"a map: of rank 0", {}, first_only, {}, 0, stdout_stream, true, true, true, "[t0]:"},
      {"not its stderr", {}, first_only, {}, 0, stderr_stream, true, false, false, ""},
      {"not of rank 1", {}, first_only, {}, 1, stdout_stream, true, false, false, ""},
      {"let through", {}, {}, {{1, 0}}, 0, stdout_stream, true, false, false, ""},
      {"kept off the console", {}, {}, {{1}}, 0, stdout_stream, false, false, false, ""},
      {"but in its file", {}, both, {{1}}, 0, stdout_stream, false, true, false, "[t0]:"},
  };
  for (const Case& c : cases) {
    plan::Options options;
    options.role = "t";
    options.redirects = c.redirects;
    options.tee = c.tee;
    options.local_ranks_filter = c.filter;
    worker::WorkerFacts worker;
    worker.local_rank = c.local_rank;
    const output::StreamPlan plan = stream_plan(options, worker, c.stream, "/log", "h");
    EXPECT_EQ(plan.console, c.console) << c.name;
    EXPECT_EQ(plan.file.value_or(""), c.file ? "/log" : "") << c.name;
    EXPECT_EQ(plan.filtered, c.filtered) << c.name;
    EXPECT_EQ(plan.prefix, c.prefix) << c.name;
  }
}

TEST(StreamPlan, AFilterMayShowNoRank) {
  plan::Options options;
  EXPECT_FALSE(shows_no_rank(options, 2));
  options.local_ranks_filter = {{7, 1}};
  EXPECT_FALSE(shows_no_rank(options, 2));
  EXPECT_TRUE(shows_no_rank(options, 1));
}

// The first rank that is shown as it is may have a terminal, and no other.
TEST(StreamPlan, OneRankMayHaveATerminal) {
  const plan::StreamMap both{stdout_stream | stderr_stream, {}};
  const auto as_terminal = [](const plan::Options& options, int local_rank) {
    worker::WorkerFacts worker;
    worker.local_rank = local_rank;
    return stream_plan(options, worker, stdout_stream, "/log", "h").as_terminal;
  };
  plan::Options options;
  EXPECT_TRUE(as_terminal(options, 0));
  EXPECT_FALSE(as_terminal(options, 1));
  options.local_ranks_filter = {{2, 3}};
  EXPECT_FALSE(as_terminal(options, 0));
  EXPECT_TRUE(as_terminal(options, 2));
  EXPECT_FALSE(as_terminal(options, 3));
  for (const auto& change : std::vector<std::function<void(plan::Options&)>>{
           [&](plan::Options& o) { o.tee = both; }, [&](plan::Options& o) { o.redirects = both; },
           [](plan::Options& o) { o.prefix = true; }, [](plan::Options& o) { o.fold = true; }}) {
    plan::Options other;
    change(other);
    EXPECT_FALSE(as_terminal(other, 0));
  }
}

TEST(StreamPlan, TakesPrefixRankAndColourFromTheOptions) {
  plan::Options options;
  options.prefix = true;
  options.prefix_template = "${hostname}/${rank}:";
  worker::WorkerFacts worker;
  worker.rank = 9;
  worker.local_rank = 1;
  worker.group_rank = 4;
  output::StreamPlan plan = stream_plan(options, worker, stdout_stream, "", "n4");
  EXPECT_EQ(plan.prefix, "n4/9:");
  EXPECT_EQ(plan.rank, 9);
  EXPECT_EQ(plan.colour, 1);
  options.gather_output = true;
  EXPECT_EQ(stream_plan(options, worker, stdout_stream, "", "n4").colour, 4);
}

TEST(StreamPlan, TellsTheRanksOfSeveralNodesApart) {
  plan::Options options;
  options.role = "t";
  options.prefix = true;
  worker::WorkerFacts worker;
  worker.rank = 9;
  worker.local_rank = 1;
  EXPECT_EQ(stream_plan(options, worker, stdout_stream, "", "n4").prefix, "[t1]:");
  options.gather_output = true;
  EXPECT_EQ(stream_plan(options, worker, stdout_stream, "", "n4").prefix, "[t9]:");
  options.prefix_template = "${local_rank}|";
  EXPECT_EQ(stream_plan(options, worker, stdout_stream, "", "n4").prefix, "1|");
}

TEST(NodeLog, EndsWithinALineOfAKilledProcess) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "n0.out").string();
  EXPECT_FALSE(ends_within_line(path));
  const std::pair<const char*, bool> cases[] = {{"", false}, {"a\n", false}, {"a\nb", true}};
  for (const auto& [text, expected] : cases) {
    std::ofstream(path) << text;
    EXPECT_EQ(ends_within_line(path), expected) << text;
  }
}

TEST(OutputPlan, HasAFilteredFilePerAttempt) {
  const TemporaryFolder folder;
  const auto logs = worker::Logs::create(folder.path(), "job", {});
  ASSERT_TRUE(logs);
  plan::Options options;
  options.fold = true;
  options.log_max_bytes = 1000;
  options.duplicate_stderr_filters = {"error"};
  const output::OutputPlan plan = output_plan(options, *logs, 2);
  EXPECT_TRUE(plan.fold);
  EXPECT_EQ(plan.log_max_bytes, 1000u);
  EXPECT_EQ(plan.filtered_out.path, "");
  EXPECT_EQ(plan.filtered_err.path, logs->folder() + "/attempt_2/filtered_stderr.log");
  EXPECT_EQ(plan.filtered_err.needles, std::vector<std::string>{"error"});
}

}  // namespace
}  // namespace toprun::agent
