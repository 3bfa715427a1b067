#include "engines/slurm/submit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace toprun::engines {
namespace {

TEST(SlurmSubmit, FindsTheIdBelowWarnings) {
  struct Case {
    std::string_view text;
    std::optional<std::string> id;
  };
  const std::vector<Case> cases = {{"1234\n", "1234"},
                                   {"1234;cluster\n", "1234"},
                                   {"Welcome to our cluster!\n1234\n", "1234"},
                                   {"", std::nullopt},
                                   {"Submitted batch job 5\n", std::nullopt},
                                   {"0\n", std::nullopt}};
  for (const auto& [text, id] : cases) EXPECT_EQ(job_id_in(text), id) << text;
}

TEST(SlurmSubmit, AnotherJobsVariablesAreNotHandedOn) {
  const Environment clean = without_job({{"SLURM_JOB_ID", "5"},
                                         {"SLURM_GPUS_PER_NODE", "4"},
                                         {"SRUN_CPUS_PER_TASK", "2"},
                                         {"SLURMD_NODENAME", "n0"},
                                         {"TOPRUN_STEP", "1"},
                                         {"SLURM_CONF", "/etc/slurm.conf"},
                                         {"SBATCH_PARTITION", "main"},
                                         {"HOME", "/home/ada"}});
  EXPECT_EQ(clean.entries(), (std::vector<std::string>{"HOME=/home/ada", "SBATCH_PARTITION=main",
                                                       "SLURM_CONF=/etc/slurm.conf"}));
}

TEST(SlurmSubmit, ChoicesAreReadFromAssociations) {
  const Choices choices = choices_in("bsc98|acc_bsccs,acc_debug\nbsc99|acc_debug\n\nnoise\n");
  EXPECT_EQ(choices.accounts, (std::vector<std::string>{"bsc98", "bsc99"}));
  EXPECT_EQ(choices.qos, (std::vector<std::string>{"acc_bsccs", "acc_debug"}));
}

// Words of Slurm 22.05 (slurm_errno.c) and of sites' plug-ins, and what has to stand in the answer.
TEST(SlurmSubmit, ARefusalSaysWhatToChange) {
  struct Case {
    std::string_view said;
    std::vector<JobOption> options;
    std::string_view line;
  };
  const std::vector<Case> cases = {
      {"sbatch: error: Batch job submission failed: Invalid account or account/partition "
       "combination specified\n",
       {{"--account", "bsc9", {}}},
       "Slurm refuses the job: Invalid account or account/partition combination specified; did you "
       "mean --account bsc98? (yours are bsc98, other); give --partition (choose one of: main, "
       "gpu)"},
      {"sbatch: error: Batch job submission failed: Invalid qos specification\n",
       {},
       "Slurm refuses the job: Invalid qos specification; give --qos (yours are normal, debug)"},
      {"sbatch: error: Batch job submission failed: Time limit specification required, but not "
       "provided\n",
       {},
       "Slurm refuses the job: Time limit specification required, but not provided; give --time "
       "(the maximum is: main up to infinite, gpu up to 2-00:00:00)"},
      {"sbatch: error: lua: you must give --time and --account\n"
       "sbatch: error: Batch job submission failed: Unspecified error\n",
       {},
       "Slurm refuses the job: lua: you must give --time and --account; Unspecified error; give "
       "--account (yours are bsc98, other); give --time (the maximum is: main up to infinite, gpu "
       "up "
       "to "
       "2-00:00:00)"},
      {"sbatch: error: Batch job submission failed: Requested node configuration is not available",
       {},
       "Slurm refuses the job: Requested node configuration is not available; request what is "
       "available (main: 4 nodes with 32 CPUs and 0 GPUs, gpu: 2 nodes with 64 CPUs and 8 GPUs)"},
      {"sbatch: error: Batch job submission failed: Requested node configuration is not available",
       {{"--nodes", "4", {}}, {"--exclude", "n3", {}}},
       "Slurm refuses the job: Requested node configuration is not available; check --exclude n3: "
       "it may not leave enough nodes for --nodes 4; request what is available (main: 4 nodes with "
       "32 CPUs and 0 GPUs, gpu: 2 nodes with 64 CPUs and 8 GPUs)"},
      {"sbatch: error: Batch job submission failed: Invalid node name specified",
       {{"--nodelist", "n8", {}}},
       "Slurm refuses the job: Invalid node name specified; check the names in --nodelist n8 "
       "(sinfo "
       "-N lists the cluster's nodes)"},
      {"sbatch: error: Batch job submission failed: Invalid feature specification",
       {{"--constraint", "h100", {}}},
       "Slurm refuses the job: Invalid feature specification; check --constraint h100 (sinfo -o %f "
       "lists what nodes have)"},
      {"sbatch: fatal: Could not establish a configuration source\n",
       {},
       "cannot ask Slurm: Could not establish a configuration source; this host belongs to no "
       "cluster: log in where jobs are submitted, or set SLURM_CONF to the cluster's slurm.conf"},
      {"sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Host name lookup failure\n"
       "sbatch: error: fetch_config: DNS SRV lookup failed\n"
       "sbatch: error: _establish_config_source: failed to fetch config\n"
       "sbatch: fatal: Could not establish a configuration source\n",
       {},
       "cannot ask Slurm: Could not establish a configuration source; this host belongs to no "
       "cluster: log in where jobs are submitted, or set SLURM_CONF to the cluster's slurm.conf"},
      {"sbatch: error: Batch job submission failed: Invalid job array specification",
       {{"--array", "0-100000", {}}},
       "Slurm refuses the job: Invalid job array specification; this cluster takes task numbers up "
       "to 1000 (MaxArraySize 1001 in scontrol show config)"},
      {"", {}, "Slurm refuses the job: it gave no reason"},
  };
  const SlurmFacts facts{
      {{"main", true, true, "infinite", 4, 32, 0}, {"gpu", false, true, "2-00:00:00", 2, 64, 8}},
      "tree",
      {},
      0,
      1001};
  const Choices choices{{"bsc98", "other"}, {"normal", "debug"}};
  for (const auto& [said, options, line] : cases) {
    JobRequest job;
    job.options = options;
    EXPECT_EQ(refusal(said, job, facts, choices).line(), line);
  }
}

TEST(SlurmSubmit, AStartInAYearIsExplained) {
  const WallTime now(std::chrono::seconds(1'795'318'177));  // 2026-11-22
  const auto note = [&](std::string_view start) {
    return note_of_far_start(
        fmt::format("Job 7 to start at {} using 8 processors on nodes n0 in partition main", start),
        now);
  };
  EXPECT_TRUE(note("2027-11-22T03:29:37").contains("a job without a time limit"));
  EXPECT_TRUE(note("2027-11-22T20:00:00").contains("a job without a time limit"));
  EXPECT_EQ(note("2027-10-22T03:29:37"), "");
  EXPECT_EQ(note("2026-11-22T03:29:37"), "");
  EXPECT_EQ(note("soon"), "");
  EXPECT_EQ(note_of_far_start("allocation would be possible", now), "");
}

TEST(SlurmSubmit, AMissingEngineIsNamed) {
  EXPECT_EQ(submit_slurm("#!/bin/sh\n", {}, {}, {{"PATH", "/nowhere"}}).error()->what,
            "cannot run `sbatch --parsable`");
}

}  // namespace
}  // namespace toprun::engines
