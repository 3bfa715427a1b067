#include "engines/slurm/defaults.h"

#include <gtest/gtest.h>

namespace toprun::engines {
namespace {

const SlurmFacts tree{{{"main", true, true, "1-00:00:00", 4, 32, 0},
                       {"gpu", false, true, "infinite", 8, 128, 8},
                       {"gpu", false, true, "infinite", 8, 64, 8}},
                      "tree",
                      {2, 2},
                      0};

JobRequest job_of(std::vector<JobOption> options) {
  JobRequest job;
  job.options = std::move(options);
  job.log_dir = "/logs";
  return job;
}

Result<void> refusal_of(std::vector<JobOption> options, const SlurmFacts& facts = tree) {
  JobRequest job = job_of(std::move(options));
  std::vector<std::string> notes;
  return add_defaults(job, facts, Purpose::batch, notes);
}

TEST(SlurmDefaults, WhatTheClusterCannotGiveIsRefused) {
  struct Case {
    std::vector<JobOption> options;
    std::string_view line;
  };
  const std::vector<Case> cases = {
      {{{"--partition", "maim", {}}},
       "--partition maim: this cluster has main, gpu; did you mean main?"},
      {{{"--partition", "zzz", {}}},
       "--partition zzz: this cluster has main, gpu; choose one of them"},
      {{{"--partition", "zzz", "toprun.toml:3"}},
       "--partition zzz (toprun.toml:3): this cluster has main, gpu; choose one of them"},
      {{{"--nodelist", "n[0-3]", {}}, {"--exclude", "n7,n2", {}}},
       "--nodelist n[0-3] and --exclude n7,n2: both name n2; name the node in only one of them"},
      {{{"--nodes", "5", {}}},
       "--nodes 5: partition main has 4; request fewer nodes, or choose another partition"},
      {{{"--gpus-per-node", "2", {}}},
       "2 GPUs on each node: no node of partition main has a GPU; choose another partition"},
      {{{"--partition", "gpu", {}}, {"--gpus-per-node", "h100:16", {}}},
       "16 GPUs on each node: a node of partition gpu has at most 8 GPUs; request more nodes with "
       "fewer GPUs on each node"},
      {{{"--time", "2-0", {}}},
       "--time 2-0: partition main allows at most 1-00:00:00; request less time, or choose another "
       "partition"},
      {{{"--contiguous", std::nullopt, {}}},
       "--contiguous: has no effect here: topology/tree orders the nodes itself; "
       "use "
       "--switches N for at most N leaf switches"},
  };
  for (const auto& [options, line] : cases) {
    const auto refused = refusal_of(options);
    ASSERT_FALSE(refused) << line;
    EXPECT_EQ(refused.error().line(), line);
    EXPECT_EQ(refused.error()->exit_code, exit_usage);
  }
}

TEST(SlurmDefaults, MoreCpusThanANodeHasAreRefused) {
  const auto refusal_of_workers = [](int workers, std::vector<JobOption> options) {
    JobRequest job = job_of(std::move(options));
    job.workers = workers;
    std::vector<std::string> notes;
    const auto done = add_defaults(job, tree, Purpose::batch, notes);
    return done ? std::string() : done.error().line();
  };
  EXPECT_EQ(refusal_of_workers(32, {}), "");
  EXPECT_EQ(
      refusal_of_workers(100, {{"--nodes", "2", {}}}),
      "--nproc-per-node 100: a node of partition main has at most 32 CPUs, and toprun requests one "
      "for each process; start fewer processes on each node, or request fewer CPUs with "
      "--cpus-per-task");
  EXPECT_EQ(refusal_of_workers(2, {{"--partition", "gpu", {}}, {"--cpus-per-task", "129", {}}}),
            "--cpus-per-task 129: a node of partition gpu has at most 128 CPUs; request more nodes "
            "with fewer CPUs on each node");
  EXPECT_EQ(refusal_of_workers(100, {{"--exclusive", std::nullopt, {}}}), "");
  EXPECT_EQ(refusal_of_workers(100, {{"--cpus-per-task", "32", {}}}), "");
  EXPECT_EQ(refusal_of_workers(100, {{"--overcommit", std::nullopt, {}}}), "");
}

TEST(SlurmDefaults, TellsOfMoreRanksThanGpus) {
  const struct {
    int workers;
    std::vector<JobOption> options;
    std::vector<std::string> notes;
  } cases[] = {
      {3,
       {{"--gpus-per-node", "2", {}}},
       {"--nproc-per-node 3: the job requests 2 GPUs on each node, so several ranks share a GPU"}},
      {2, {{"--gpus-per-node", "2", {}}}, {}},
      {3, {}, {}},
  };
  for (const auto& [workers, options, expected] : cases) {
    JobRequest job = job_of(options);
    job.workers = workers;
    job.options.push_back({"--partition", "gpu", {}});
    if (options.empty()) job.options.back().value = "main";
    std::vector<std::string> notes;
    ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
    EXPECT_EQ(notes, expected) << workers;
  }
}

TEST(SlurmDefaults, WhatIsNotKnownIsNotRefused) {
  EXPECT_TRUE(refusal_of({{"--partition", "x", {}}, {"--nodes", "9", {}}}, {}));
  // A quality of service may go beyond the partition's limit.
  EXPECT_TRUE(refusal_of({{"--time", "2-0", {}}, {"--qos", "long", {}}}));
  EXPECT_TRUE(refusal_of({{"--time", "2-0", {}}, {"--partition", "gpu", {}}}));
}

TEST(SlurmDefaults, ThePoorestNodeSaysHowManyCpusBelongToAGpu) {
  JobRequest job = job_of({{"--partition", "gpu", {}}, {"--gpus-per-node", "4", {}}});
  std::vector<std::string> notes;
  ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
  EXPECT_EQ(job.find("--cpus-per-task")->value, "32");
  EXPECT_EQ(job.find("--cpus-per-task")->reason, "a node of partition gpu has 64 CPUs for 8 GPUs");
}

TEST(SlurmDefaults, EveryOneOfThemHasAReason) {
  JobRequest job = job_of({});
  std::vector<std::string> notes;
  ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
  EXPECT_GE(job.options.size(), 5u);
  for (const JobOption& option : job.options) EXPECT_FALSE(option.reason.empty()) << option.name;
}

TEST(SlurmDefaults, OfARangeOfNodesTheJobGetsAsManyAsThereAre) {
  for (const auto& [nodes, has_tasks] : {std::pair("2-4", false), {"2-2", true}, {"2", true}}) {
    JobRequest job = job_of({{"--nodes", nodes, {}}});
    std::vector<std::string> notes;
    ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
    EXPECT_EQ(job.find("--ntasks-per-node") != nullptr, has_tasks) << nodes;
  }
}

// As for sbatch.
TEST(SlurmDefaults, TheJobGetsTheNodesThatItNames) {
  const struct {
    std::vector<JobOption> options;
    std::string_view nodes;
  } rows[] = {
      {{{"--nodelist", "n[0-2]", {}}}, "3"},
      {{{"--nodelist", "n0,n1,n0", {}}}, "2"},
      {{{"--nodelist", "n7", {}}}, "1"},
      {{{"--nodelist", "n[0-1]", {}}, {"--nodes", "4", {}}}, "4"},
      {{{"--nodelist", "./hosts.txt", {}}}, "1"},
  };
  for (const auto& row : rows) {
    JobRequest job = job_of(row.options);
    std::vector<std::string> notes;
    ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
    EXPECT_EQ(job.find("--nodes")->value, row.nodes);
    EXPECT_EQ(job.find("--nodes")->reason.contains("--nodelist"),
              row.options.size() == 1 && !row.options[0].value->contains('/'));
  }
}

TEST(SlurmDefaults, GpusThatNobodyAskedForAreMentioned) {
  JobRequest job = job_of({{"--partition", "gpu", {}}});
  std::vector<std::string> notes;
  ASSERT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
  EXPECT_EQ(notes, std::vector<std::string>{"the job requests no GPU, and a node of partition gpu "
                                            "has 8: request them with --gpus-per-node 8"});
}

TEST(SlurmDefaults, TwoNumbersOfGpusAreMentioned) {
  const auto notes_of = [](const char* each, const char* gres) {
    JobRequest job =
        job_of({{"--partition", "gpu", {}}, {"--gpus-per-node", each, {}}, {"--gres", gres, {}}});
    std::vector<std::string> notes;
    EXPECT_TRUE(add_defaults(job, tree, Purpose::batch, notes));
    return join(notes, "; ");
  };
  EXPECT_TRUE(
      notes_of("4", "gpu:2")
          .contains(
              "--gpus-per-node 4 and --gres gpu:2 request different numbers of GPUs on each node"));
  EXPECT_FALSE(notes_of("4", "gpu:4").contains("different"));
  EXPECT_FALSE(notes_of("h100:4", "gpu:h100:4,nvme:1").contains("different"));
  EXPECT_FALSE(notes_of("4", "nvme:1").contains("different"));
}

TEST(SlurmDefaults, AShellIsToldNothingOfFilesAndSignals) {
  JobRequest job = job_of({{"--nodes", "2", {}}});
  std::vector<std::string> notes;
  ASSERT_TRUE(add_defaults(job, tree, Purpose::shell, notes));
  std::vector<std::string> names;
  for (const JobOption& option : job.options) names.push_back(option.name);
  EXPECT_EQ(names, (std::vector<std::string>{"--nodes", "--ntasks-per-node"}));
}

}  // namespace
}  // namespace toprun::engines
