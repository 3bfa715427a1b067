#include "engines/slurm/script.h"

#include <gtest/gtest.h>

#include "base/text/version.h"

namespace toprun::engines {
namespace {

TEST(SlurmScript, WordsForBashStayOnOneLine) {
  struct Case {
    std::string word;
    std::string_view expected;
  };
  const std::vector<Case> cases = {
      {"train.py", "train.py"},
      {"", "''"},
      {"two words", "'two words'"},
      {"it's", R"('it'\''s')"},
      {"$(id) `id` \"$HOME\" \\", R"('$(id) `id` "$HOME" \')"},
      {"#SBATCH --wrap=id", "'#SBATCH --wrap=id'"},
      {"a\n#SBATCH --nodes=9", R"($'a\n#SBATCH --nodes=9')"},
      {"it's\t\\n\x1b"
       "1",
       R"($'it\'s\011\\n\0331')"},
      {"größer", "'größer'"},
      {"!history", "'!history'"},
  };
  for (const auto& [word, expected] : cases) EXPECT_EQ(bash_word(word), expected);
}

TEST(SlurmScript, WordsForSbatchAreInItsOwnQuotes) {
  struct Case {
    std::string word;
    std::string_view expected;
  };
  const std::vector<Case> cases = {
      {"--nodes=2", "--nodes=2"},
      {"--requeue", "--requeue"},
      {"--job-name=two words", R"(--job-name="two words")"},
      {"--job-name=a\"b\\c'd", R"(--job-name="a\"b\\c'd")"},
      {"--comment=#x $(id)", R"x(--comment="#x $(id)")x"},
      {"--constraint=a&b|c", R"(--constraint="a&b|c")"},
      {"-k x", R"("-k x")"},
  };
  for (const auto& [word, expected] : cases) EXPECT_EQ(directive(word), expected);
  for (const char* bad : {"--job-name=a\nb", "--job-name=a\tb", "--job-name=\x7f"}) {
    EXPECT_EQ(directive(bad).error()->exit_code, exit_usage) << bad;
  }
}

TEST(SlurmScript, APathIsNoPattern) {
  EXPECT_EQ(literal_in_pattern("/scratch/100%/run %j"), "/scratch/100%%/run %%j");
  EXPECT_FALSE(literal_in_pattern("/scratch/a\\b"));
}

JobRequest small_job() {
  JobRequest job;
  job.options = {{"--nodes", "2", {}}, {"--requeue", std::nullopt, "why"}};
  job.raw_options = {"--nice=100"};
  job.log_dir = "/home/ada/my logs";
  job.toprun = "/opt/bin/toprun";
  job.program = {"train.py", "--epochs", "3"};
  return job;
}

TEST(SlurmScript, IsAllLinesAndOneCommand) {
  EXPECT_EQ(slurm_script(small_job()).value_or(""),
            fmt::format("#!/bin/bash\n"
                        "# Written by toprun {}; `sbatch FILE` submits it again.\n"
                        "#SBATCH --nodes=2\n"
                        "#SBATCH --requeue\n"
                        "#SBATCH --nice=100\n"
                        "set -euo pipefail\n"
                        "folder='/home/ada/my logs'/\"$SLURM_JOB_ID\"\n"
                        "exec /opt/bin/toprun --node-log \"$folder\" --report "
                        "\"$folder/report.json\" train.py --epochs 3\n",
                        version));
}

TEST(SlurmScript, EachTaskOfAnArrayHasItsOwnFolder) {
  JobRequest job = small_job();
  job.options.push_back({"--array", "0-3", {}});
  EXPECT_NE(slurm_script(job)->find(
                "folder='/home/ada/my logs'/\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"),
            std::string::npos);
}

TEST(SlurmScript, WhatTheUserNamesGoesBeforeWhatTheFolderHas) {
  JobRequest job = small_job();
  job.reports = false;
  job.keeps_rank_files = true;
  job.run_options = {"--report=mine.json", "--tee=3"};
  job.program = {"-odd.py"};
  EXPECT_NE(slurm_script(job)->find("toprun --node-log \"$folder\" --log-dir \"$folder\" "
                                    "--report=mine.json --tee=3 -- -odd.py\n"),
            std::string::npos);
}

TEST(SlurmScript, AVerbKeepsItsOwnFiles) {
  JobRequest job;
  job.options = {{"--nodes", "1", ""}};
  job.toprun = "/opt/toprun";
  job.verb = "setup";
  job.run_options = {"--on=local", "--venv=my env"};
  job.program = {"torch", "$(id)"};
  const auto script = slurm_script(job);
  ASSERT_TRUE(script);
  EXPECT_TRUE(
      script->ends_with("#SBATCH --nodes=1\n"
                        "# shellcheck disable=SC1003,SC2016\n"
                        "set -euo pipefail\n"
                        "exec /opt/toprun setup --on=local '--venv=my env' torch '$(id)'\n"))
      << *script;
}

}  // namespace
}  // namespace toprun::engines
