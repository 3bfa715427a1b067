#include "cli/jobs/job_options.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/config/config.h"
#include "node/plan/program.h"

namespace toprun::jobs {
namespace {

Result<SubmitOptions> submit(const std::vector<std::string>& words,
                             const Environment& environment = {}) {
  const auto split = options::split_verb(words, options::Command::submit);
  if (!split) return std::unexpected(split.error());
  return submit_options(*split, words, environment, [](const std::string&) { return true; });
}

Result<SubmitOptions> shell(const std::vector<std::string>& words) {
  const auto split = options::split_verb(words, options::Command::shell);
  if (!split) return std::unexpected(split.error());
  return shell_options(*split, {});
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  return argv;
}

// A command line with what a file gives to it.
options::Split with_file(const std::string& text, std::string_view line) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  const auto split = options::split_verb(argv, options::Command::submit);
  auto file = config::parse_config(text, {"f", "/project", "/home/ada"});
  EXPECT_TRUE(split && file);
  config::Config config;
  config.files.push_back(*std::move(file));
  const auto profile = config::choose_profile(config, *split, {});
  EXPECT_TRUE(profile);
  auto out = *split;
  const auto added = config::options_of(config, *profile, *split, options::Command::submit, {});
  out.options.insert(out.options.begin(), added.begin(), added.end());
  return out;
}

TEST(JobOptions, WhatCannotBeIsRefused) {
  struct Case {
    std::vector<std::string> words;
    std::string_view line;
  };
  const std::vector<Case> cases = {
      {{}, "no script given; toprun submit -h shows the usage"},
      {{"--nodez", "2", "a.py"}, "unknown option --nodez; did you mean --nodes?"},
      {{"--nodes", "two", "a.py"}, "--nodes two: must be a number of nodes, such as 4 or 2-4"},
      {{"--mem", "all", "a.py"}, "--mem all: must be a size, as 64G"},
      {{"--part", "x", "a.py"}, "unknown option --part; did you mean --partition?"},
      {{"--partition", "", "a.py"}, "--partition '': must not be empty"},
      {{"--array", "0-2", "--report", "r.json", "a.py"},
       "--report r.json: each task of --array 0-2 would replace this file; leave --report out: "
       "each "
       "task has its own report in logs/ARRAY_TASK/report.json, and toprun report ARRAY_TASK shows "
       "it"},
      {{"--partition"}, "--partition needs a value; --partition PARTITION,..."},
      {{"--contiguous=yes", "a.py"}, "--contiguous takes no value; write --contiguous alone"},
      {{"--on", "kubernets", "a.py"},
       "--on kubernets: toprun submits to slurm, kubernetes and runai; did you mean kubernetes?"},
      {{"--on", "lsf", "a.py"},
       "--on lsf: toprun submits to slurm, kubernetes and runai; choose one of them"},
      {{"--tee", "9", "a.py"}, "--tee 9: must be"},
      {{"--after", "x", "a.py"}, "--after x: must be a job's number"},
      {{"--after", "12:maybe", "a.py"}, "--after 12:maybe: must be a job's number"},
      {{"--after", "12", "--dependency", "afterok:3?afterok:4", "a.py"},
       "--after and --dependency: "},
      {{"--slurm-arg", "nice", "a.py"}, "--slurm-arg=nice: is not an option of sbatch"},
      {{"--slurm-arg=--nodes=2", "a.py"},
       "--slurm-arg=--nodes=2: toprun has an option for this; use --nodes"},
      {{"--slurm-arg=-N2", "a.py"}, "--slurm-arg=-N2: toprun has an option for this; use --nodes"},
      {{"--slurm-arg=--wrap=id", "a.py"},
       "--slurm-arg=--wrap=id: toprun itself writes the batch script"},
      {{"--node-rank", "0", "a.py"},
       "--node-rank: a batch job cannot use it, because every node runs the same command"},
      {{"--nodes", "2", "--hosts", "n0,n1", "a.py"},
       "--hosts n0,n1: it lists hosts for ssh, but Slurm chooses the nodes of this job; leave it "
       "out, or choose nodes with --nodelist"},
      {{"--hostfile", "f", "a.py"}, "--hostfile f: it lists hosts for ssh"},
      {{"--nodes", "2", "--nnodes", "4", "a.py"}, "--nnodes 4: --nodes requests only 2 nodes"},
      {{"--nodes", "4", "--nnodes", "5:8", "a.py"}, "--nnodes 5:8: --nodes requests only 4 nodes"},
      {{"--job-name", "a/b", "a.py"}, "--job-name a/b: the name becomes part of file names"},
      {{"--dry-run=later", "a.py"}, "--dry-run=later: must be client or server"},
      {{"-"}, "script \"-\": it means standard input, which a batch job does not have"},
  };
  for (const auto& [words, line] : cases) {
    const auto options = submit(words);
    ASSERT_FALSE(options) << join(words, " ");
    EXPECT_TRUE(options.error().line().starts_with(line)) << options.error().line();
    EXPECT_EQ(options.error()->exit_code, exit_usage);
  }
}

TEST(JobOptions, TheLastWordCountsAndVariablesComeLast) {
  const auto options = submit({"--time", "1", "--time", "2", "a.py"}, {{"SBATCH_TIMELIMIT", "3"},
                                                                       {"SBATCH_QOS", "debug"},
                                                                       {"SBATCH_EXCLUSIVE", ""},
                                                                       {"SBATCH_ACCOUNT", ""}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.find("--time")->value, "2");
  EXPECT_EQ(options->request.find("--qos")->value, "debug");
  EXPECT_EQ(options->request.find("--qos")->reason, "SBATCH_QOS");
  EXPECT_EQ(options->request.find("--exclusive")->value, std::nullopt);
  EXPECT_EQ(options->request.find("--account"), nullptr);
}

TEST(JobOptions, NothingOfSlurmReachesTheRun) {
  const auto options = submit({"--nodes=2", "--wait", "--tee", "3", "--log-dir", "x", "a.py"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.run_options, (std::vector<std::string>{"--no-config", "--tee=3"}));
  EXPECT_TRUE(options->wait);
  EXPECT_TRUE(options->request.keeps_rank_files);
  EXPECT_EQ(options->request.log_dir, "x");
}

TEST(JobOptions, AReportOfTheUsersIsNotTheJobs) {
  EXPECT_TRUE(submit({"a.py"})->notes.empty());
  const auto options = submit({"--report", "my.json", "a.py"});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->request.reports);
  ASSERT_EQ(options->notes.size(), 1u);
  EXPECT_TRUE(
      options->notes[0].starts_with("--report my.json: toprun report, status and jobs --recent "));
}

TEST(JobOptions, TheLauncherIsThatOfTheRunInTheJob) {
  struct Case {
    std::vector<std::string> words;
    Environment environment;
    std::string launcher;
  };
  const Environment variable{{"TOPRUN_LAUNCHER", "mpirun"}};
  const std::vector<Case> cases = {
      {{"a.py"}, {}, ""},
      {{"--launcher", "mpirun", "a.py"}, {}, "mpirun"},
      {{"a.py", "--launcher=mpirun"}, {}, ""},
      {{"a.py"}, variable, "mpirun"},
      {{"--slurm-arg=--export=NONE", "a.py"}, variable, ""},
      {{"--slurm-arg=--export=HOME,TOPRUN_LAUNCHER", "a.py"}, variable, "mpirun"},
      {{"--slurm-arg=--export=TOPRUN_LAUNCHERS", "a.py"}, variable, ""},
      {{"--slurm-arg=--export=NONE", "--launcher", "mpirun", "a.py"}, variable, "mpirun"},
  };
  for (const auto& [words, environment, launcher] : cases) {
    const auto options = submit(words, environment);
    ASSERT_TRUE(options) << join(words, " ");
    EXPECT_EQ(options->request.launcher, launcher) << join(words, " ");
  }
}

TEST(JobOptions, OneTaskMayHaveAReportOfTheUsers) {
  EXPECT_TRUE(submit({"--array", "3", "--report", "r.json", "a.py"}));
  EXPECT_TRUE(submit({"--array", "0-2", "--report", "/dev/null", "a.py"}));
}

TEST(JobOptions, WhatStandsBehindTheScriptIsNoted) {
  struct Behind {
    std::vector<std::string> words;
    std::string_view note;
  };
  const Behind rows[] = {
      {{"a.py", "-N", "2"},
       "-N 2 comes after the script, so it belongs to the script; write options of the job before "
       "the "
       "script"},
      {{"a.py", "--nodes=2", "--lr", "1", "--partition", "gpu", "--exclusive"},
       "--nodes=2, --partition gpu, --exclusive come after the script, so they belong to the "
       "script; write options of the job before the script"},
      {{"a.py", "--nproc-per-node", "8"}, "--nproc-per-node 8 comes after the script, "},
      {{"-m", "pkg.train", "-t", "30"}, "-t 30 comes after the script, "},
      {{"a.py", "-c", "config.yaml", "-t", "text", "-p", "x", "-v", "-m", "8", "-"}, ""},
      {{"a.py", "--log-dir", "runs", "--seed=1"}, ""},
      {{"a.py", "--", "-N", "2", "--", "-N", "2"}, "-N 2 comes after the script, "},
      {{"a.py", "x", "--", "-N", "2"}, ""},
      {{"--no-python", "srun", "-N", "2"}, ""},
      {{"-N", "2", "a.py"}, ""},
  };
  for (const Behind& row : rows) {
    const auto options = submit(row.words);
    ASSERT_TRUE(options) << options.error().line();
    const std::string note = options->notes.empty() ? "" : options->notes.back();
    EXPECT_TRUE(row.note.empty() ? note.empty() : note.starts_with(row.note)) << note;
  }
}

TEST(JobOptions, AnOptionalValueIsNeverTheNextWord) {
  const auto options = submit({"--exclusive", "a.py", "--dry-run"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.program, (std::vector<std::string>{"a.py", "--dry-run"}));
  EXPECT_EQ(submit({"--exclusive=user", "a.py"})->request.find("--exclusive")->value, "user");
  EXPECT_EQ(submit({"--dry-run=server", "a.py"})->dry_run, DryRun::server);
}

TEST(JobOptions, AShellHasAllocationsOnly) {
  EXPECT_TRUE(shell({"--nodes", "2", "--segment", "2"}));
  EXPECT_EQ(shell({"--attach", "12_3"})->attach, "12_3");
  EXPECT_EQ(shell({"--attach", "12+1"})->attach, "12+1");
  EXPECT_EQ(shell({"--attach", "x"}).error().line(),
            "--attach x: is not a job's number; squeue --me lists your jobs");
  EXPECT_EQ(shell({"--tee", "3"}).error()->what, "unknown option --tee");
  EXPECT_EQ(shell({"train.py"}).error()->what, "toprun shell train.py");
  EXPECT_FALSE(shell({"--dry-run=server"}));
}

TEST(JobOptions, AJobIsWhatTheFilesSayWhenItIsSubmitted) {
  const options::Split split =
      with_file("nodes = 2\npartition = 'gpu'\ntee = 3\nslurm-arg = ['--nice=5']", "--role r s.py");
  const auto options = submit_options(split, {"s.py"}, {}, [](const std::string&) { return true; });
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->request.run_options,
            (std::vector<std::string>{"--no-config", "--tee=3", "--role=r"}));
  EXPECT_EQ(options->request.raw_options, std::vector<std::string>{"--nice=5"});
  const auto* partition = options->request.find("--partition");
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->value, "gpu");
  EXPECT_EQ(partition->reason, "f:2");
}

TEST(JobOptions, WhatIsForPodsIsNoOptionOfSlurmsJob) {
  for (const std::string_view word : {"--pvc=a:/b", "--namespace=ml", "--host-network"}) {
    const auto options = submit({std::string(word), "s.py"});
    ASSERT_FALSE(options) << word;
    EXPECT_TRUE(options.error().line().contains("works only for pods; leave it out")) << word;
  }
  const auto options = submit_options(with_file("namespace = 'ml'", "s.py"), {"s.py"}, {},
                                      [](const std::string&) { return true; });
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->notes,
            std::vector<std::string>{"f:1: namespace = ml has no effect: it works only for pods"});
}

TEST(JobOptions, ErrorsOfAJobNameTheFilesLine) {
  const std::pair<std::string, std::string_view> rows[] = {
      {"on = 'pbs'", "f:1: on = pbs: toprun submits to slurm"},
      {"partition = ''", "f:1: partition = '': must not be empty"},
      {"slurm-arg = 'x'", "f:1: slurm-arg = x: is not an option of sbatch"},
  };
  for (const auto& [text, error] : rows) {
    const auto options = submit_options(with_file(text, "s.py"), {"s.py"}, {},
                                        [](const std::string&) { return true; });
    ASSERT_FALSE(options) << text;
    EXPECT_TRUE(options.error().line().starts_with(error)) << options.error().line();
  }
}

TEST(SubmitOptions, NodesThatCannotTakeATurnAreNoted) {
  const auto notes = [](std::vector<std::string> words) { return submit(words).value().notes; };
  EXPECT_EQ(notes({"--nodes", "3", "--nnodes", "2", "a.py"}),
            std::vector<std::string>{
                "--nnodes 2 of 3 nodes: the other nodes stay idle; with --max-restarts 1 "
                "they are spares, which replace lost nodes"});
  EXPECT_TRUE(notes({"--nodes", "3", "--nnodes", "2", "--max-restarts", "1", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nodes", "3", "--nnodes", "2:3", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nodes", "3", "--nnodes", "3", "a.py"}).empty());
  EXPECT_EQ(
      notes({"--mail-user", "ada@x.org", "a.py"}),
      std::vector<std::string>{
          "--mail-user ada@x.org has no effect without --mail-type: Slurm sends mail only for "
          "the events that --mail-type lists, as in --mail-type END,FAIL"});
  EXPECT_TRUE(notes({"--mail-user", "ada@x.org", "--mail-type", "END", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nodes", "3", "a.py"}).empty());
  EXPECT_EQ(notes({"--nodes", "2-3", "--max-restarts", "2", "a.py"}),
            std::vector<std::string>{
                "--nodes 2-3: Slurm chooses 2 to 3 nodes before the start; --nnodes 2:3 lets the "
                "job go on with fewer nodes later"});
  EXPECT_TRUE(notes({"--nodes", "2-3", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nodes", "3-3", "--max-restarts", "2", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nodes", "2-3", "--nnodes", "2:3", "--max-restarts", "2", "a.py"}).empty());
  EXPECT_TRUE(notes({"--nnodes", "2:3", "--max-restarts", "2", "a.py"}).empty());
}

// The command that toprun suggests for a script of sbatch's is one that submit accepts.
TEST(JobOptions, WhatABatchScriptRequestsIsAccepted) {
  const std::pair<const char*, const char*> rows[] = {
      {"--job-name=batched --nodes=2 --ntasks-per-node=1 --gres=gpu:2",
       "--job-name=batched --nodes=2 --gres=gpu:2"},
      {"-N 2 -n 8 --parsable -Q -t10:00 -p gpu -A x -q y", "-N 2 -t10:00 -p gpu -A x -q y"},
      {"--nodes 2 --ntasks 16 --exclusive --requeue", "--nodes 2 --exclusive --requeue"},
      {"-G 4 -c 8 -C a -w n1 -x n2 -J j -D /x -b now -d afterok:1 -o o -a 0-1 -W",
       "-G 4 -c 8 -C a -w n1 -x n2 -J j -D /x -b now -d afterok:1 -o o -a 0-1 -W"},
      {"--gpus-per-node=8 --cpus-per-task=4 --mem=0 --time=1:00 --partition=p --account=a --qos=q "
       "--constraint=c --reservation=r --nodelist=n1 --exclude=n2 --switches=1 --contiguous "
       "--chdir=/x --begin=now --dependency=singleton --mail-type=END --mail-user=a@b --output=o "
       "--error=e --array=0-1 --signal=USR1@60 --wait",
       nullptr},
      {"--gpus=4", nullptr},
      {"--comment x --nice=5 --hold -H -L matlab -e err",
       "--slurm-arg=--comment=x --slurm-arg=--nice=5 --slurm-arg=--hold --slurm-arg=-H "
       "--slurm-arg=-Lmatlab --error=err"},
  };
  for (const auto& [requested, expected] : rows) {
    const auto error = plan::not_for_python(
        "job.sh", fmt::format("#!/bin/bash\n#SBATCH {}\nsrun true\n", requested));
    ASSERT_TRUE(error) << requested;
    const std::string line = error->line();
    constexpr std::string_view before = "`toprun submit ";
    const std::size_t begin = line.find(before);
    ASSERT_NE(begin, std::string::npos) << line;
    const std::string command = line.substr(begin + before.size());
    EXPECT_EQ(command, fmt::format("{} SCRIPT`", expected != nullptr ? expected : requested));
    const auto options = submit(words_of(command.substr(0, command.size() - 1)));
    EXPECT_TRUE(options) << options.error().line();
  }
  const auto quoted =
      plan::not_for_python("job.sh", "#!/bin/bash\n#SBATCH --comment=\"a b\"\nsrun true\n");
  EXPECT_FALSE(quoted->line().contains("toprun submit")) << quoted->line();
}

}  // namespace
}  // namespace toprun::jobs
