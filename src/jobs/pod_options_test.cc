#include "jobs/pod_options.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace toprun::jobs {
namespace {

using scheduler::kubernetes::Operator;
using Strings = std::vector<std::string>;

Result<PodOptions> pods(Strings words, const Environment& environment = {}) {
  words.insert(words.begin(), {"--on", "kubernetes"});
  const auto split = options::split_verb(words, options::Command::submit);
  if (!split) return std::unexpected(split.error());
  return pod_options(*split, words, environment);
}

TEST(PodOptions, PodsThatSleep) {
  const auto options = pods({"--interactive", "-N", "2", "--container=python:3"});
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_TRUE(options->interactive);
  EXPECT_EQ(options->job.name, "interactive");
  EXPECT_TRUE(options->job.name_is_beginning);
  EXPECT_EQ(options->job.command.front(), "sh");
  EXPECT_TRUE(options->job.command.back().contains("sleep")) << options->job.command.back();
  const auto both = pods({"--interactive", "--container=python:3", "train.py"});
  ASSERT_FALSE(both);
  EXPECT_TRUE(both.error().line().starts_with("--interactive with train.py: "));
}

// The error of a line of words behind an image.
Error refused(std::string_view line) {
  Strings argv{"--container=python:3"};
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  const auto options = pods(argv);
  EXPECT_FALSE(options) << line;
  return options ? Error{} : options.error();
}

TEST(PodOptions, TheJobThatALineAsksFor) {
  const auto options = pods({"-N",
                             "4",
                             "--gpus-per-node",
                             "8",
                             "-c",
                             "64",
                             "--mem",
                             "64G",
                             "-t",
                             "1-00:00:00",
                             "--container",
                             "docker://python:3",
                             "--pvc",
                             "scratch:/scratch",
                             "--pvc=data:/data:ro",
                             "--annotation",
                             "a/b=c=d",
                             "--extended-resource",
                             "rdma/rdma=1",
                             "--namespace",
                             "ml",
                             "-e",
                             "A=1",
                             "-e",
                             "HOME",
                             "--nproc-per-node",
                             "4",
                             "--operator",
                             "trainjob",
                             "/scratch/my_App.py",
                             "--lr",
                             "1"},
                            Environment({{"HOME", "/home/ada"}, {"SBATCH_TIMELIMIT", "5"}}));
  ASSERT_TRUE(options) << options.error().line();
  const auto& job = options->job;
  EXPECT_EQ(options->which, Operator::trainjob);
  EXPECT_EQ(job.name, "my-app");
  EXPECT_TRUE(job.name_is_beginning);
  EXPECT_EQ(job.space, "ml");
  EXPECT_EQ(job.nodes, 4);
  EXPECT_EQ(job.gpus, 8);
  EXPECT_EQ(job.cpus, 64);
  EXPECT_EQ(job.memory, "64Gi");
  EXPECT_EQ(job.limit, std::chrono::hours(24));
  EXPECT_EQ(job.image, "docker.io/library/python:3");
  ASSERT_EQ(job.claims.size(), 2u);
  EXPECT_EQ(job.claims[1], (scheduler::kubernetes::Claim{"data", "/data", true}));
  EXPECT_EQ(job.annotations.front(), (std::pair<std::string, std::string>("a/b", "c=d")));
  EXPECT_EQ(job.resources.front(), (std::pair<std::string, int>("rdma/rdma", 1)));
  EXPECT_EQ(job.variables,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"HOME", "/home/ada"}}));
  EXPECT_EQ(job.workers, 4);
  EXPECT_EQ(job.command, (Strings{"toprun", "--no-config", "--nproc-per-node=4",
                                  "/scratch/my_App.py", "--lr", "1"}));
}

TEST(PodOptions, AnElasticJob) {
  for (const Strings& nodes : {Strings{"--nodes", "2-4"}, Strings{"--nnodes", "2:4"}}) {
    const auto options = pods({"--container=a", nodes[0], nodes[1], "x.py"});
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->job.least_nodes, 2);
    EXPECT_EQ(options->job.nodes, 4);
  }
  EXPECT_EQ(refused("--nodes 2-4 --operator jobset x.py").why, "only PyTorchJobs are elastic");
}

TEST(PodOptions, AChosenNameIsTaken) {
  const auto options = pods({"--container=a", "--job-name", "train", "x.py"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->job.name, "train");
  EXPECT_FALSE(options->job.name_is_beginning);
  EXPECT_EQ(refused("--job-name my_App x.py").fix, "say --job-name my-app");
}

TEST(PodOptions, WhatCannotBeIsRefused) {
  EXPECT_EQ(pods({"x.py"}).error().why, "a pod needs an image");
  EXPECT_EQ(pods({"--container=./a.sif", "x.py"}).error().why,
            "pods take their image from a registry");
  EXPECT_EQ(pods({"--container=a", "x.py", "\xff"}).error().why,
            "bytes that are no UTF-8 cannot stand in a manifest");
  for (const char* line : {"--partition a x.py",
                           "--slurm-arg=--nice x.py",
                           "--after 7 x.py",
                           "--pvc a x.py",
                           "--pvc a:b x.py",
                           "--pvc a:/b:rw x.py",
                           "--annotation a x.py",
                           "--annotation =a x.py",
                           "--extended-resource a x.py",
                           "--extended-resource a=0 x.py",
                           "--namespace A x.py",
                           "--mem 1X x.py",
                           "--time soon x.py",
                           "--gpus-per-node h100:8 x.py",
                           "--nodes 0 x.py",
                           "--nodes 4-2 x.py",
                           "--chdir here x.py",
                           "--operator mpi x.py",
                           "--operator trainjob --chdir /a x.py",
                           "--dry-run=always x.py"}) {
    EXPECT_EQ(refused(line).exit_code, exit_usage) << line;
  }
}

TEST(PodOptions, AFilesWordsForSlurmAreNoted) {
  options::Split split = *options::split_verb({"--container=a", "x.py"}, options::Command::submit);
  split.options.push_back(
      {options::find_flag("--partition", options::Command::submit), "gpu", "toprun.toml:3"});
  const auto options = pod_options(split, {}, {});
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->notes, Strings{"toprun.toml:3: partition = gpu has no effect: it is for Slurm "
                                    "alone"});
}

}  // namespace
}  // namespace toprun::jobs
