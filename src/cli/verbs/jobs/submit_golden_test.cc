#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/os/files.h"
#include "base/text/version.h"
#include "cli/jobs/job_options.h"
#include "engines/slurm/defaults.h"
#include "engines/slurm/script.h"

// The scripts of submit_golden/NAME.sbatch, each from a command line and a cluster.
// TOPRUN_WRITE_GOLDEN=1 writes them anew, and fails: what was written compares with itself.
// tests/submit_test.py has bash and shellcheck read them.
namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using engines::SlurmFacts;

const SlurmFacts nothing_known{};
const SlurmFacts cpu_tree{{{"main", true, true, "infinite", 4, 32, 0}}, "tree", {2, 2}, 0};
const SlurmFacts gpu_tree{
    {{"gpu", true, true, "2-00:00:00", 64, 128, 8}, {"debug", false, true, "30:00", 2, 96, 4}},
    "tree",
    {16, 16, 16, 16},
    0};
const SlurmFacts gpu_block{{{"gb200", true, true, "infinite", 72, 144, 4}}, "block", {}, 18};
const SlurmFacts flat{{{"main", true, true, "1-00:00:00", 8, 80, 4}}, "none", {}, 0};

struct Case {
  std::string name;
  const SlurmFacts& facts;
  std::vector<std::string> words;
  Environment environment{};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"smallest", nothing_known, {"train.py"}},
      {"nodes", nothing_known, {"--nodes", "2", "train.py"}},
      {"gpus-of-a-node",
       gpu_tree,
       {"--nodes=8", "--gpus-per-node", "8", "--time", "2:00:00", "train.py"}},
      {"half-a-node", gpu_tree, {"--nodes", "1", "--gpus-per-node", "4", "train.py"}},
      {"gpus-of-the-job", gpu_tree, {"--gpus", "20", "train.py"}},
      {"gpus-of-a-type", gpu_tree, {"--nodes", "2", "--gpus-per-node", "h100:2", "train.py"}},
      {"gres", gpu_tree, {"--nodes", "2", "--gres", "gpu:4,nic:2", "train.py"}},
      {"own-cpus",
       gpu_tree,
       {"--gpus-per-node", "8", "--cpus-per-task", "80", "--mem", "0", "train.py"}},
      {"exclusive", gpu_tree, {"--nodes", "2", "--exclusive", "--gpus-per-node", "8", "train.py"}},
      {"more-than-a-leaf", gpu_tree, {"--nodes", "20", "--gpus-per-node", "8", "train.py"}},
      {"own-switches", gpu_tree, {"--nodes", "4", "--switches", "1@30:00", "train.py"}},
      {"two-partitions",
       gpu_tree,
       {"--partition", "gpu,debug", "--gpus-per-node", "4", "train.py"}},
      {"short-time", cpu_tree, {"--nodes", "2", "--time", "4", "train.py"}},
      {"own-signal", cpu_tree, {"--nodes", "2", "--signal", "USR1@300", "train.py"}},
      {"own-signal-on-one-node", cpu_tree, {"--signal", "USR1@300", "train.py"}},
      {"processes", cpu_tree, {"--nodes", "2", "--nproc-per-node", "8", "train.py"}},
      {"elastic", cpu_tree, {"--nnodes", "2:4", "--max-restarts", "3", "train.py"}},
      {"segment-elsewhere", cpu_tree, {"--nodes", "4", "--segment", "2", "train.py"}},
      {"block", gpu_block, {"--nodes", "36", "--gpus-per-node", "4", "train.py"}},
      {"own-segment",
       gpu_block,
       {"--nodes", "32", "--gpus-per-node", "4", "--segment", "16", "train.py"}},
      {"contiguous", flat, {"--nodes", "4", "--contiguous", "train.py"}},
      {"site", flat, {"--account",     "bsc98",    "--qos",        "acc_debug",
                      "--partition",   "main",     "--constraint", "a100&nvme|h100",
                      "--reservation", "course",   "--exclude",    "n[3-4]",
                      "--nodelist",    "n0",       "--begin",      "now+1hour",
                      "--mail-type",   "END,FAIL", "--mail-user",  "ada@example.org",
                      "train.py"}},
      {"array", cpu_tree, {"--array", "0-9%2", "--nodes", "2", "train.py", "--seed", "1"}},
      {"after", cpu_tree, {"--after", "12", "--after", "13:any", "--nodes", "2", "train.py"}},
      {"after-and-dependency",
       cpu_tree,
       {"--after", "12_3:notok", "--dependency", "singleton", "train.py"}},
      {"own-files",
       cpu_tree,
       {"--output", "out.%j", "--error", "err.%j", "--log-dir", "/scratch/100% logs", "--tee", "3",
        "--report", "mine.json", "--job-name", "my \"first\" job", "train.py"}},
      {"raw",
       cpu_tree,
       {"--slurm-arg=--nice=100", "--slurm-arg", "--comment two words", "--slurm-arg=--no-requeue",
        "--slurm-arg=-H", "train.py"}},
      {"variables",
       cpu_tree,
       {"--nodes", "2", "train.py"},
       {{"SBATCH_PARTITION", "main"}, {"SBATCH_TIMELIMIT", "1:00:00"}, {"SBATCH_ACCOUNT", "a b"}}},
      {"run-options",
       cpu_tree,
       {"--nodes", "4", "-v", "--tee", "3", "--parallel", "tp=4,dp=8", "--max_restarts", "2", "-m",
        "package.train", "--lr", "-1"}},
      {"program", cpu_tree, {"--standalone", "--no-python", "--", "bin/solver", "--"}},
      {"hostile-arguments",
       cpu_tree,
       {"--job-name", "$(id) `id` # 'x' \\", "dir with blank/it's.py", "$(touch x)", "`id`",
        "a\n#SBATCH --nodes=9\n", "\"'\\", "", "#SBATCH --wrap=id", "!!", "\x1b[31m", "größer",
        "*"}},
  };
  return all;
}

Result<std::string> script_of(const Case& each) {
  const auto split = options::split_verb(each.words, options::Command::submit);
  if (!split) return std::unexpected(split.error());
  auto options = jobs::submit_options(*split, each.words, each.environment,
                                      [](const std::string&) { return true; });
  if (!options) return std::unexpected(options.error());
  engines::JobRequest& request = options->request;
  request.options.push_back({"--chdir", "/home/ada/work", {}});
  request.log_dir = (fs::path("/home/ada/work") / request.log_dir).string();
  request.toprun = "/opt/toprun/bin/toprun";
  const auto added =
      engines::add_defaults(request, each.facts, engines::Purpose::batch, options->notes);
  if (!added) return std::unexpected(added.error());
  return engines::slurm_script(request);
}

// Whatever the version, the golden text is the same.
std::string without_version(std::string script) {
  const std::string named = fmt::format("toprun {};", version);
  if (const auto at = script.find(named); at != script.npos) {
    script.replace(at, named.size(), "toprun VERSION;");
  }
  return script;
}

const fs::path folder = fs::path(__FILE__).parent_path() / "submit_golden";

TEST(SubmitGolden, EveryCommandLineGivesItsScript) {
  for (const Case& each : cases()) {
    const auto script = script_of(each);
    ASSERT_TRUE(script) << each.name << ": " << script.error().line();
    const fs::path path = folder / (each.name + ".sbatch");
    const std::string text = without_version(*script);
    EXPECT_EQ(text, read_file(path).value_or("no such file")) << path;
    if (std::getenv("TOPRUN_WRITE_GOLDEN") == nullptr) continue;
    std::ofstream(path) << text;
    ADD_FAILURE() << path << " is written: read it, then run this without TOPRUN_WRITE_GOLDEN";
  }
}

TEST(SubmitGolden, ThereAreNoOthers) {
  std::set<std::string> names;
  for (const Case& each : cases()) names.insert(each.name + ".sbatch");
  EXPECT_GE(names.size(), 30u);
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_EQ(files, names);
}

}  // namespace
}  // namespace toprun::cli
