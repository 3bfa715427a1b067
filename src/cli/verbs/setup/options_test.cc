#include "cli/verbs/setup/options.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::cli {
namespace {

Result<SetupOptions> setup(const std::vector<std::string>& words,
                           const Environment& environment = {}) {
  const auto split = options::split_verb(words, options::Command::setup);
  if (!split) return std::unexpected(split.error());
  return setup_options({options::Command::setup, *split, environment});
}

TEST(SetupOptions, AreTheJobsLastLine) {
  struct Case {
    std::vector<std::string> words;
    Environment environment;
    std::string line;
  };
  const std::vector<Case> cases = {
      {{"--venv", "env"}, {}, "--on=local --no-config --venv=env"},
      {{"--on", "slurm", "--time=5", "--follow", "--venv", "env", "-r", "a", "--requirement=b",
        "--import=x,y", "--force", "--modules=m", "-e", "A=1", "--horovod", "torch", "a b"},
       {},
       "--on=local --no-config --venv=env --requirement=a --requirement=b --import=x,y --force "
       "--modules=m --env=A=1 --horovod torch a b"},
      {{"torch"},
       {{"TOPRUN_VENV", "by a variable"}},
       "--on=local --no-config --venv=by a variable torch"},
      {{"--container", "t.sif", "--from", "docker://x"},
       {{"TOPRUN_VENV", "of the others"}},
       "--on=local --no-config --container=t.sif --from=docker://x"},
  };
  for (const auto& [words, environment, line] : cases) {
    const auto options = setup(words, environment);
    ASSERT_TRUE(options) << options.error().line();
    std::vector<std::string> last = options->job.request.run_options;
    last.insert(last.end(), options->job.request.program.begin(),
                options->job.request.program.end());
    EXPECT_EQ(join(last, " "), line);
    EXPECT_EQ(options->job.request.verb, "setup");
  }
}

TEST(SetupOptions, TheJobIsNamedByWhatItBuilds) {
  const std::pair<std::string, std::string> cases[] = {
      {"env", "setup-env"}, {"/a/env/", "setup-env"}, {"a/b c", "setup-b c"}};
  for (const auto& [venv, name] : cases) {
    EXPECT_EQ(setup({"--venv", venv})->job.request.find("--job-name")->value, name);
  }
  EXPECT_EQ(setup({"--venv", "env", "--job-name", "mine"})->job.request.find("--job-name")->value,
            "mine");
}

TEST(SetupOptions, WhatCannotBeIsRefused) {
  const std::pair<std::vector<std::string>, std::string_view> cases[] = {
      {{}, "nothing to build: no --venv is given"},
      {{"--container", "t.sif"},
       "--container t.sif: --from IMAGE is missing: it names the image to build from"},
      {{"torch", "numpy"},
       "nothing to build: torch, numpy: --venv DIR is missing, the folder of the environment to "
       "install this into; name an environment, as in toprun setup --venv env torch numpy"},
      {{"--venv", "e", "torch", "-r", "x"}, "-r: comes after the packages"},
      {{"--venv", "e", ""}, "package '': has no name"},
      {{"--venv", "e", "--on", "k8s"}, "--on k8s: toprun builds on slurm or local"},
      {{"--venv", "e", "--import", "a,"}, "--import a,: must be modules"},
      {{"--venv", "e", "--horovod=x"}, "--horovod=x: must be nccl, gloo or mpi"},
      {{"--venv", "e", "--nccl-home", "x"}, "--nccl-home x: this option is for Horovod"},
      {{"--from", "x"}, "--from x: --container FILE is missing"},
      {{"--from", "x", "--container", "y"}, "--container y: must end in .sif or .sqsh"},
      {{"--from", "x", "--container", "y.sif", "z"}, "--from x: packages can be added"},
      {{"--venv", "e", "--after", "setup"}, "--after setup: must be a job's number"},
  };
  for (const auto& [words, line] : cases) {
    const auto options = setup(words);
    ASSERT_FALSE(options) << join(words, " ");
    EXPECT_TRUE(options.error().line().starts_with(line)) << options.error().line();
    EXPECT_EQ(options.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::cli
