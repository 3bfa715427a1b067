#include "engines/runai/command_lines.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::engines::runai {
namespace {

kubernetes::Workload training() {
  kubernetes::Workload job;
  job.name = "train";
  job.nodes = 4;
  job.gpus = 8;
  job.cpus = 64;
  job.memory = "512Gi";
  job.image = "nvcr.io/nvidia/pytorch:25.03-py3";
  job.command = {"toprun", "/scratch/train.py", "--epochs", "3"};
  job.variables = {{"LR", "0.1"}};
  job.claims = {{"scratch", "/scratch", false}};
  job.annotations = {{"k8s.v1.cni.cncf.io/networks", "kube-system/roce"}};
  job.resources = {{"rdma/rdma", 1}};
  return job;
}

std::string line(const Result<Words>& words) {
  return words ? join(*words, " ") : words.error().line();
}

// The recipe's command, without its mistakes.
TEST(RunaiCommandLines, OfTheFirstProgram) {
  EXPECT_EQ(line(submit_command({Cli::v1, "mlo"}, training())),
            "runai submit-dist pytorch --name train --project mlo "
            "--image nvcr.io/nvidia/pytorch:25.03-py3 --workers 3 --gpu 8 --cpu 64 --memory 512Gi "
            "--extended-resource rdma/rdma=1 --large-shm --backoff-limit 0 --clean-pod-policy None "
            "--pvc scratch:/scratch "
            "--annotation k8s.v1.cni.cncf.io/networks=kube-system/roce -e LR=0.1 "
            "--command -- toprun /scratch/train.py --epochs 3");
}

TEST(RunaiCommandLines, OfTheSecondProgram) {
  EXPECT_EQ(line(submit_command({Cli::v2, ""}, training())),
            "runai training pytorch submit train --image nvcr.io/nvidia/pytorch:25.03-py3 "
            "--workers 3 --gpu-devices-request 8 --cpu-core-request 64 --cpu-memory-request 512Gi "
            "--extended-resource rdma/rdma=1 --master-gpu-devices-request 8 "
            "--master-cpu-core-request 64 --master-cpu-memory-request 512Gi "
            "--master-extended-resource rdma/rdma=1 --large-shm --backoff-limit 0 "
            "--restart-policy Never --master-restart-policy Never --clean-pod-policy None "
            "--existing-pvc claimname=scratch,path=/scratch "
            "--annotation k8s.v1.cni.cncf.io/networks=kube-system/roce -e LR=0.1 "
            "--command -- toprun /scratch/train.py --epochs 3");
}

// 2.18 and 2.19, whose flags are fewer.
TEST(RunaiCommandLines, OfAnOlderSecondProgram) {
  const std::string help =
      "Flags:\n  --image string\n  --gpu-devices-request int32\n  --cpu-core-request float\n"
      "  --cpu-memory-request string\n  --master-gpu-devices-request int32\n";
  EXPECT_EQ(line(submit_command({Cli::v2, "", help}, training())),
            "runai training pytorch submit train --image nvcr.io/nvidia/pytorch:25.03-py3 "
            "--workers 3 --gpu-devices-request 8 --cpu-core-request 64 --cpu-memory-request 512Gi "
            "--extended-resource rdma/rdma=1 --master-gpu-devices-request 8 "
            "--master-extended-resource rdma/rdma=1 --large-shm --backoff-limit 0 "
            "--existing-pvc claimname=scratch,path=/scratch "
            "--annotation k8s.v1.cni.cncf.io/networks=kube-system/roce -e LR=0.1 "
            "--command -- toprun /scratch/train.py --epochs 3");
}

TEST(RunaiCommandLines, SecretsAreNamed) {
  kubernetes::Workload job = training();
  job.secret_variables = {{"HF_TOKEN", "tokens", "hf"}};
  EXPECT_TRUE(
      line(submit_command({Cli::v2, ""}, job)).contains(" --env-secret HF_TOKEN=tokens,key=hf "));
  EXPECT_TRUE(line(submit_command({Cli::v1, ""}, job)).starts_with("--secret-env HF_TOKEN: "));
  EXPECT_TRUE(line(submit_command({Cli::v2, "", "--image string\n"}, job))
                  .starts_with("--secret-env HF_TOKEN: "));
  job.secret_variables = {{"HF_TOKEN", "", "HF_TOKEN"}};
  EXPECT_TRUE(
      line(submit_command({Cli::v2, ""}, job)).contains("--secret-env HF_TOKEN=SECRET:KEY"));
}

TEST(RunaiCommandLines, OfJobsWithOneNodeAndOfElasticOnes) {
  kubernetes::Workload job;
  job.name = "a";
  job.image = "python:3";
  job.command = {"toprun", "a.py"};
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "runai submit-dist pytorch --name a --image python:3 --workers 0 --gpu 0 --large-shm "
            "--backoff-limit 0 --clean-pod-policy None --command -- toprun a.py");
  job.nodes = 4;
  job.least_nodes = 2;
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "runai submit-dist pytorch --name a --image python:3 --workers 3 --min-replicas 2 "
            "--max-replicas 4 --gpu 0 --large-shm --backoff-limit 0 --clean-pod-policy None "
            "--command -- toprun a.py");
  EXPECT_EQ(line(submit_command({Cli::v2, ""}, job)),
            "runai training pytorch submit a --image python:3 --no-master --workers 4 "
            "--min-replicas 2 --max-replicas 4 --large-shm --backoff-limit 0 "
            "--clean-pod-policy None --command -- toprun a.py");
}

TEST(RunaiCommandLines, OfJobsThatChooseTheirNodes) {
  kubernetes::Workload job;
  job.name = "a";
  job.image = "i";
  job.command = {"toprun", "a.py"};
  job.placement.pools = {"h100"};
  job.placement.selector = {{"run.ai/type", "dgx"}};
  job.placement.tolerations = {{"gpu", "yes", "NoSchedule"}, {"spot"}};
  job.placement.together = {"nvidia.com/gpu.clique", true};
  job.host_network = job.locks_memory = true;
  const std::string nodes =
      " --node-pools h100 --node-type dgx "
      "--toleration operator=Equal,key=gpu,value=yes,effect=NoSchedule "
      "--toleration operator=Exists,key=spot --required-pod-topology-key nvidia.com/gpu.clique "
      "--host-network ";
  EXPECT_TRUE(
      line(submit_command({Cli::v1, ""}, job)).contains(nodes + "--add-capability IPC_LOCK"));
  EXPECT_TRUE(line(submit_command({Cli::v2, ""}, job)).contains(nodes + "--capability IPC_LOCK"));
  job.placement.together->required = false;
  job.placement.pools.push_back("a100");
  EXPECT_TRUE(
      line(submit_command({Cli::v2, ""}, job)).contains("--node-pools h100 --node-pools a100 "));
  EXPECT_TRUE(line(submit_command({Cli::v2, ""}, job)).contains("--preferred-pod-topology-key "));
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "--node-pool: runai v1 accepts only one pool; name one pool");
  job.placement.pools.clear();
  job.placement.selector = {{"disk", "ssd"}};
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "--node-selector disk=ssd: Run:AI can select nodes only by run.ai/type; "
            "use this label or --node-pool");
  job.placement.queue = "team";
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "--queue: runai does not have an option for it; leave it out");
}

TEST(RunaiCommandLines, RefuseWhatRunaiCannotDo) {
  kubernetes::Workload job = training();
  job.limit = std::chrono::seconds(60);
  EXPECT_EQ(line(submit_command({Cli::v1, ""}, job)),
            "--time: Run:AI cannot limit the time of a single job; leave it out");
  job.limit.reset();
  job.claims[0].read_only = true;
  EXPECT_TRUE(line(submit_command({Cli::v1, ""}, job)).contains("--pvc scratch:/scratch:ro "));
  EXPECT_EQ(line(submit_command({Cli::v2, ""}, job)),
            "--pvc NAME:PATH:ro: runai v2 cannot mount a claim read-only; leave :ro out");
}

TEST(RunaiCommandLines, OfJobsThatExist) {
  const Client v1{Cli::v1, "mlo"};
  const Client v2{Cli::v2, "mlo"};
  for (const auto& [words, expected] : std::vector<std::pair<Words, std::string>>{
           {list_command(v1, false), "runai list jobs --project mlo"},
           {list_command(v1, true), "runai list jobs -A"},
           {list_command(v2, false), "runai training pytorch list --project mlo --json"},
           {describe_command(v1, "a"), "runai describe job a --project mlo -o json"},
           {describe_command(v2, "a"), "runai training pytorch describe a --project mlo -o json"},
           {events_command(v1, "a"), "runai describe job a --project mlo"},
           {delete_command(v1, "a"), "runai delete job a --project mlo"},
           {delete_command(v2, "a"), "runai training pytorch delete a --project mlo"},
           {logs_command(v1, "a", "a-worker-0", true),
            "runai logs a --project mlo --pod a-worker-0 --follow"},
           {logs_command(v2, "a", std::nullopt, false),
            "runai training pytorch logs a --project mlo"},
           {exec_command(v1, "a", "a-master-0", false, {"sh", "-c", "x"}),
            "runai exec a --project mlo --pod a-master-0 --stdin -- sh -c x"},
           {exec_command(v2, "a", std::nullopt, true, {"bash"}),
            "runai training pytorch exec a --project mlo --stdin --tty -- bash"}}) {
    EXPECT_EQ(join(words, " "), expected);
  }
}

TEST(RunaiCommandLines, TellTheProgramsApart) {
  EXPECT_EQ(cli_of("Version: 2.13.6\nBuildDate: 2023-08-01T00:00:00Z\nGitCommit: 0a1b\n"), Cli::v1);
  EXPECT_EQ(cli_of("2.20.31\n"), Cli::v2);
  EXPECT_EQ(cli_of(""), Cli::v2);
}

TEST(RunaiCommandLines, PlainWords) {
  for (const std::string_view word : {"a", "-x", "/a/b.py", "k=v", "a:b@1+2%"}) {
    EXPECT_TRUE(is_plain(word)) << word;
  }
  for (const std::string_view word :
       {"", "a b", "a,b", "$(A)", "a\"", "'", "\\", "é", "a\n", "*"}) {
    EXPECT_FALSE(is_plain(word)) << word;
  }
}

}  // namespace
}  // namespace toprun::engines::runai
