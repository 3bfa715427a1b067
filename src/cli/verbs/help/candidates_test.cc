#include <gtest/gtest.h>

#include "cli/verbs/help/completion.h"
#include "cli/verbs/help/help.h"

namespace toprun::cli {
namespace {

using Kind = Completion::Kind;
using Line = std::vector<std::string>;

Completion in_submit(const Line& words) {
  return completion(command_text(options::Command::submit), words);
}

Completion in_logs(const Line& words) {
  options::CommandText logs;
  logs.positionals = {"ID"};
  logs.options = {
      {"Options", {{{"-f", "--follow"}, "", false, ""}, {{"--rank"}, "RANK", false, ""}}}};
  return completion(logs, words);
}

TEST(Candidates, TheKindFollowsFromWhatStandsBefore) {
  struct Case {
    Line words;
    Completion expected;
  };
  const Case cases[] = {
      {{""}, {}},  // a script
      {{"tr"}, {Kind::files, {}, "", "tr"}},
      {{"--pa"}, {Kind::options, {}, "", "--pa"}},
      {{"--nodes", ""}, {Kind::files, {}, "", "", true}},  // a number
      {{"--time", "2"}, {Kind::files, {}, "", "2", true}},
      {{"--rdzv-id", ""}, {Kind::files, {}, "", "", true}},
      {{"--report", "r"}, {Kind::files, {}, "", "r"}},
      {{"--log-dir=l"}, {Kind::folders, {}, "--log-dir=", "l"}},
      {{"--conda", ""}, {Kind::folders, {}, "", ""}},
      {{"--partition", "g"}, {Kind::partitions, {}, "", "g", true}},
      {{"-p", ""}, {Kind::partitions, {}, "", "", true}},
      {{"--partition", "gpu,d"}, {Kind::partitions, {}, "gpu,", "d", true}},
      {{"--partition=g"}, {Kind::partitions, {}, "--partition=", "g", true}},
      {{"--partition", "=", "g"}, {Kind::partitions, {}, "", "g", true}},  // as bash has it
      {{"--partition", "="}, {Kind::partitions, {}, "", "", true}},
      {{"--after", "1"}, {Kind::jobs, {}, "", "1", true}},
      {{"--profile", ""}, {Kind::profiles, {}, "", "", true}},
      {{"--rdzv_backend", "s"}, {Kind::choices, {"static", "c10d"}, "", "s", true}},
      {{"--order", ""}, {Kind::choices, {"topology", "name", "scheduler", "given"}, "", ""}},
      {{"--log-dir", ""}, {Kind::folders, {}, "", ""}},
      {{"--exclusive", "--ti"}, {Kind::options, {}, "", "--ti"}},  // its value stands behind =
      {{"--exclusive=u"}, {Kind::choices, {"user", "mcs"}, "--exclusive=", "u", true}},
      {{"--nodes", "2", "train.py", "--ep"}, {}},  // the script's own
      {{"--nodes", "=", "2", "--ti"}, {Kind::options, {}, "", "--ti"}},
      {{"--nosuch", "x"}, {Kind::files, {}, "", "x"}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(in_submit(each.words), each.expected) << testing::PrintToString(each.words);
  }
  const auto in_bench = [](const Line& words) {
    return completion(command_text(options::Command::bench), words);
  };
  EXPECT_EQ(in_bench({"--backend", ""}),
            (Completion{Kind::choices, {"tcp", "gloo", "nccl", "rccl"}, "", "", true}));
  EXPECT_EQ(in_bench({"--backend", "tcp,gl"}),
            (Completion{Kind::choices, {"gloo", "nccl", "rccl"}, "tcp,", "gl", true}));
  EXPECT_EQ(in_bench({"--backend=gloo,tcp,"}),
            (Completion{Kind::choices, {"nccl", "rccl"}, "--backend=gloo,tcp,", "", true}));
  EXPECT_EQ(in_logs({""}), (Completion{Kind::jobs, {}, "", "", true}));
  EXPECT_EQ(in_logs({"-f", "1"}), (Completion{Kind::jobs, {}, "", "1", true}));
  const auto in_report = [](const Line& words) {
    return completion(command_text(options::Command::report), words);
  };
  EXPECT_EQ(in_report({""}), (Completion{Kind::jobs, {}, "", "", true, true}));
  EXPECT_EQ(in_report({"r"}), (Completion{Kind::jobs, {}, "", "r"}));
  EXPECT_EQ(in_logs({"--rank", "1"}), (Completion{Kind::files, {}, "", "1", true}));
}

TEST(Candidates, WhereNoOperandIsTakenOptionsAreOffered) {
  options::CommandText jobs;
  EXPECT_EQ(completion(jobs, Line{""}), (Completion{Kind::options, {}, "", ""}));
}

TEST(Candidates, AreOnlyThoseThatBeginSo) {
  const std::vector<options::CommandText::Row> rows = {
      {"gpu", "the default"}, {"debug", ""}, {"g\n2", "a name that no terminal shows"}};
  EXPECT_EQ(candidate_lines(rows, "--partition=", "g"), "--partition=gpu\tthe default\n");
  const options::CommandText::Row plain[] = {{"static", ""}, {"c10d", ""}};
  EXPECT_EQ(candidate_lines(plain, "", ""), "static\nc10d\n");
}

}  // namespace
}  // namespace toprun::cli
