#include "cli/pods/options.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "node/plan/packed_words.h"

namespace toprun::pods {
namespace {

using engines::kubernetes::Operator;
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
  EXPECT_EQ(job.claims[1], (engines::kubernetes::Claim{"data", "/data", true}));
  EXPECT_EQ(job.annotations.front(), (std::pair<std::string, std::string>("a/b", "c=d")));
  EXPECT_EQ(job.resources.front(), (std::pair<std::string, int>("rdma/rdma", 1)));
  EXPECT_EQ(job.variables,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"HOME", "/home/ada"}}));
  EXPECT_EQ(job.workers, 4);
  EXPECT_EQ(job.command, (Strings{"toprun", "--no-config", "--nproc-per-node=4",
                                  "/scratch/my_App.py", "--lr", "1"}));
}

TEST(PodOptions, WhereItsPodsMayGo) {
  using namespace engines::kubernetes;
  Strings argv{"--container=a"};
  for (const std::string_view word : words(
           "--queue q --priority-class high --node-pool p0 --node-pool p1 "
           "--node-selector gpu=h100 --toleration nvidia.com/gpu:NoSchedule "
           "--toleration team=a --required-topology-key nvidia.com/gpu.clique --shm 64G "
           "--host-network --ipc-lock --toprun-image registry.io/toprun:1 --runtime torch x.py")) {
    argv.emplace_back(word);
  }
  const auto options = pods(argv);
  ASSERT_TRUE(options) << options.error().line();
  const Workload& job = options->job;
  const Placement& placement = job.placement;
  EXPECT_EQ(options->which, std::nullopt);
  EXPECT_EQ(placement.placer, Placer::kueue);
  EXPECT_EQ(placement.queue, "q");
  EXPECT_EQ(placement.priority_class, "high");
  EXPECT_EQ(placement.pools, (Strings{"p0", "p1"}));
  EXPECT_EQ(placement.selector,
            (std::vector<std::pair<std::string, std::string>>{{"gpu", "h100"}}));
  EXPECT_EQ(
      placement.tolerations,
      (std::vector<Toleration>{{"nvidia.com/gpu", std::nullopt, "NoSchedule"}, {"team", "a", ""}}));
  EXPECT_EQ(placement.together, (Together{"nvidia.com/gpu.clique", true}));
  EXPECT_EQ(job.shared_memory, "64Gi");
  EXPECT_TRUE(job.host_network);
  EXPECT_TRUE(job.locks_memory);
  EXPECT_EQ(job.toprun_image, "registry.io/toprun:1");
  EXPECT_EQ(job.runtime, "torch");
}

TEST(PodOptions, TheSchedulerIsKueueWhereAQueueIsNamed) {
  using engines::kubernetes::Placer;
  for (const auto& [line, placer] : std::vector<std::pair<const char*, Placer>>{
           {"x.py", Placer::cluster},
           {"--queue q x.py", Placer::kueue},
           {"--scheduler kueue x.py", Placer::kueue},
           {"--queue q --scheduler volcano x.py", Placer::volcano},
           {"--scheduler kai x.py", Placer::kai},
           {"--scheduler runai x.py", Placer::runai}}) {
    Strings argv{"--container=a"};
    for (const std::string_view word : words(line)) argv.emplace_back(word);
    const auto options = pods(argv);
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->job.placement.placer, placer) << line;
  }
}

TEST(PodOptions, ADryRunIsForPeopleOrForPrograms) {
  for (const auto& [word, run, as_json] : std::vector<std::tuple<const char*, DryRun, bool>>{
           {"--dry-run", DryRun::client, false},
           {"--dry-run=client", DryRun::client, false},
           {"--dry-run=server", DryRun::server, false},
           {"--dry-run=json", DryRun::client, true}}) {
    const auto options = pods({"--container=a", word, "x.py"});
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->dry_run, run) << word;
    EXPECT_EQ(options->as_json, as_json) << word;
  }
}

TEST(PodOptions, SecretsComeFromTheEnvironmentOrFromASecret) {
  const Environment environment = {{"HF_TOKEN", "hush"}};
  const auto options =
      pods({"--container=a", "--secret-env", "HF_TOKEN", "--secret-env=W=tokens.ml:wandb_key",
            "--env-from", "all", "--service-account", "trainer", "--image-pull-secret", "registry",
            "--patch", "p.yaml", "x.py"},
           environment);
  ASSERT_TRUE(options) << options.error().line();
  using engines::kubernetes::SecretVariable;
  EXPECT_EQ(
      options->job.secret_variables,
      (std::vector<SecretVariable>{{"HF_TOKEN", "", "HF_TOKEN"}, {"W", "tokens.ml", "wandb_key"}}));
  EXPECT_EQ(options->secrets, (std::map<std::string, std::string>{{"HF_TOKEN", "hush"}}));
  EXPECT_EQ(options->job.env_from, Strings{"all"});
  EXPECT_EQ(options->job.service_account, "trainer");
  EXPECT_EQ(options->job.pull_secrets, Strings{"registry"});
  EXPECT_EQ(options->patch, "p.yaml");
  EXPECT_EQ(refused("--secret-env HF_TOKEN x.py").line(),
            "--secret-env HF_TOKEN: the variable is not set here; export HF_TOKEN, or name a "
            "Secret's key: --secret-env HF_TOKEN=SECRET:KEY");
  EXPECT_EQ(refused("--secret-env HF_TOKEN=tok x.py").line(),
            "--secret-env HF_TOKEN=…: names no key of a Secret; write HF_TOKEN=SECRET:KEY, with a "
            "Secret's name of a-z, 0-9, - and . and a key of letters, digits, -, _ and .; or "
            "--secret-env HF_TOKEN for a variable of this environment");
  EXPECT_EQ(refused("--secret-env hf-token=tok:hf x.py")->fix,
            "write NAME=SECRET:KEY, with letters, digits and _ in the name");
  const auto on_runai = pods({"--on=runai", "--container=a", "--secret-env", "HF_TOKEN", "x.py"});
  EXPECT_TRUE(on_runai) << on_runai.error().line();  // runai refuses it, set or not
  const std::string form = "hf_" + std::string(34, 'a');
  EXPECT_EQ(refused("--annotation a/b=" + form + " x.py").line(),
            "--annotation a/b: the value looks like a secret, and everyone who may read the job "
            "could read it; leave it out; --secret-env NAME passes a secret to the program");
  const Error mistaken = refused("--secret-env HF_TOKEN=hush x.py");
  EXPECT_FALSE(mistaken.line().contains("hush")) << mistaken.line();
}

TEST(PodOptions, TheNumberOfRanksIsKnown) {
  for (const auto& [line, workers] : std::vector<std::pair<const char*, std::optional<int>>>{
           {"x.py", 1},
           {"-c 8 x.py", 1},
           {"--gpus-per-node 8 x.py", 8},
           {"--gpus-per-node 8 --nproc-per-node 4 x.py", 4},
           {"--nproc-per-node gpu x.py", std::nullopt},
           {"--extended-resource habana.ai/gaudi=8 x.py", 8},
           {"--extended-resource nvidia.com/mig-1g.5gb=2 x.py", 2},
           {"--extended-resource rdma/rdma=1 x.py", 1}}) {
    Strings argv{"--container=a"};
    for (const std::string_view word : words(line)) argv.emplace_back(word);
    const auto options = pods(argv);
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->job.workers, workers) << line;
  }
}

TEST(PodOptions, WhereTheBinaryIs) {
  const auto options = pods({"--gpus-per-node=8", "--container=nvcr.io/nvidia/pytorch:1", "--pvc",
                             "s:/scratch", "--toprun", "/scratch/bin/toprun", "/scratch/x.py"});
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->job.command.front(), "/scratch/bin/toprun");
  EXPECT_TRUE(options->notes.empty());
  for (const auto& [words, notes] : std::vector<std::pair<Strings, std::size_t>>{
           {{"--container=nvcr.io/nvidia/pytorch:1", "-m", "x"}, 1},
           {{"--container=python:3", "-m", "x"}, 1},
           {{"--container=registry.example/mine:1", "-m", "x"}, 0},
           {{"--container=python:3", "--toprun-image", "registry.example/toprun", "-m", "x"}, 0},
           {{"--container=python:3", "--toprun", "/opt/toprun", "-m", "x"}, 1}}) {
    Strings all = {"--gpus-per-node=0"};
    all.insert(all.end(), words.begin(), words.end());
    const auto asked = pods(all);
    ASSERT_TRUE(asked) << asked.error().line();
    EXPECT_EQ(asked->notes.size(), notes) << join(words, " ");
  }
}

TEST(PodOptions, SaysThatNoGpuIsAskedFor) {
  for (const auto& [words, notes] : std::vector<std::pair<Strings, std::size_t>>{
           {{}, 1},
           {{"--nproc-per-node=8"}, 1},
           {{"--extended-resource=rdma/hca=1"}, 1},
           {{"--gpus-per-node=8"}, 0},
           {{"--gpus-per-node=0"}, 0},
           {{"--extended-resource=nvidia.com/mig-1g.10gb=1"}, 0}}) {
    Strings all = {"--container=r.io/a"};
    all.insert(all.end(), words.begin(), words.end());
    all.emplace_back("x.py");
    const auto asked = pods(all);
    ASSERT_TRUE(asked) << asked.error().line();
    EXPECT_EQ(asked->notes.size(), notes) << join(words, " ");
  }
}

TEST(PodOptions, WhereTheScriptIs) {
  const std::string brings = "--toprun-image=registry.example/toprun";
  for (const auto& [words, note] : std::vector<std::pair<Strings, std::string>>{
           {{"--container=python:3", "code/x.py"},
            "image python:3 does not contain code/x.py unless you have added it, and the pods do "
            "not see "
            "this machine's files: put the script on a claim and give its path in the pods, as in "
            "--pvc "
            "NAME:/PATH /PATH/x.py"},
           {{"--container=python:3", "--pvc=s:/scratch", "x.py"}, "as in /scratch/x.py"},
           {{"--container=python:3", "--pvc=s:/scratch", "/home/me/x.py"}, "as in /scratch/x.py"},
           {{"--container=python:3", "--pvc=s:/scratch", "/scratch/x.py"}, ""},
           {{"--container=python:3", "--pvc=s:/scratch", "--chdir=/scratch/me", "x.py"}, ""},
           {{"--container=python:3", "--chdir=/opt", "x.py"}, "as in --pvc NAME:/PATH /PATH/x.py"},
           {{"--container=registry.example/mine:1", "x.py"}, ""},
           {{"--container=python:3", "--no-python", "hostname"}, ""},
           {{"--container=python:3", "-m", "x"}, ""}}) {
    Strings all = {"--gpus-per-node=0", brings};
    all.insert(all.end(), words.begin(), words.end());
    const auto asked = pods(all);
    ASSERT_TRUE(asked) << asked.error().line();
    EXPECT_EQ(asked->notes.size(), note.empty() ? 0u : 1u) << join(words, " ");
    if (!asked->notes.empty()) EXPECT_TRUE(asked->notes[0].ends_with(note)) << asked->notes[0];
  }
}

TEST(PodOptions, MemoryIsSlurms) {
  for (const auto& [word, memory, notes] :
       std::vector<std::tuple<const char*, const char*, std::size_t>>{
           {"900G", "900Gi", 1}, {"900Gi", "900Gi", 0}, {"512", "512Mi", 1}}) {
    const auto options =
        pods({"--gpus-per-node=0", "--container=r.io/a", "--dry-run", "--mem", word, "x.py"});
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->job.memory, memory);
    EXPECT_EQ(options->notes.size(), notes) << word;
  }
}

TEST(PodOptions, AnElasticJob) {
  for (const Strings& nodes : {Strings{"--nodes", "2-4"}, Strings{"--nnodes", "2:4"}}) {
    const auto options = pods({"--container=a", nodes[0], nodes[1], "x.py"});
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(options->job.least_nodes, 2);
    EXPECT_EQ(options->job.nodes, 4);
  }
}

TEST(PodOptions, PodsAreTheNodesOfTheRun) {
  EXPECT_EQ(
      refused("--nodes 2 --nnodes 3 x.py").line(),
      "--nodes 2 and --nnodes 3: each pod of the job is a node of the run; give only --nodes");
  EXPECT_TRUE(pods({"--container=a", "--nodes=2", "--nnodes=2", "x.py"}));
  EXPECT_EQ(pods({"--container=a", "--nodes=4", "--nnodes=2:4", "x.py"})->job.least_nodes, 2);
}

TEST(PodOptions, AChosenNameIsTaken) {
  const auto options = pods({"--container=a", "--job-name", "train", "x.py"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->job.name, "train");
  EXPECT_FALSE(options->job.name_is_beginning);
  EXPECT_EQ(refused("--job-name my_App x.py")->fix, "use --job-name my-app");
}

TEST(PodOptions, BytesThatAreNoTextTravelPacked) {
  const auto options = pods({"--container=a", "x.py", "\xff"});
  ASSERT_TRUE(options);
  ASSERT_EQ(options->job.command.size(), 3u);
  EXPECT_EQ(plan::unpack_words(options->job.command[2]).value(),
            (Strings{"toprun", "--no-config", "x.py", "\xff"}));
}

TEST(PodOptions, WhatCannotBeIsRefused) {
  EXPECT_EQ(pods({"--operator=jobst", "x.py"}).error().line(),
            "--operator jobst: must be auto, pytorchjob, trainjob or jobset; did you mean jobset?");
  EXPECT_EQ(pods({"x.py"}).error()->why, "a pod needs an image");
  EXPECT_EQ(pods({"--container=./a.sif", "x.py"}).error()->why,
            "pods need an image from a registry");
  EXPECT_TRUE(pods({"--container=a", "x.py", std::string(plan::max_packed_bytes, '\xff')})
                  .error()
                  ->what.starts_with("the command line is "));
  for (const char* line : {"--partition a x.py",
                           "--slurm-arg=--nice x.py",
                           "--after 7 x.py",
                           "--pvc a x.py",
                           "--pvc a:b x.py",
                           "--pvc a:/b:rw x.py",
                           "--annotation a x.py",
                           "--annotation =a x.py",
                           "--extended-resource a x.py",
                           "--extended-resource rdma=1 x.py",
                           "--extended-resource Rdma/hca_=1 x.py",
                           "--extended-resource r/a=1 --extended-resource r/a=2 x.py",
                           "--gpus-per-node 8 --extended-resource nvidia.com/gpu=8 x.py",
                           "--pvc a:/s --pvc b:/s x.py",
                           "--pvc a:/s --pvc b:/s/ x.py",
                           "--pvc a:/dev/shm x.py",
                           "--toprun-image b --pvc a:/toprun.io x.py",
                           "--pvc Bad_Name:/s x.py",
                           "--annotation Bad_/key=a x.py",
                           "--annotation a=b --annotation a=c x.py",
                           "--node-selector a=b --node-selector a=c x.py",
                           "--queue My_Queue x.py",
                           "--priority-class Very_High x.py",
                           "--extended-resource a=0 x.py",
                           "--namespace A x.py",
                           "--mem 1X x.py",
                           "--time soon x.py",
                           "--gpus-per-node h100:8 x.py",
                           "--nodes 0 x.py",
                           "--nodes 4-2 x.py",
                           "--chdir here x.py",
                           "--operator mpi x.py",
                           "--queue a/b x.py",
                           "--scheduler slurm x.py",
                           "--priority-class -a x.py",
                           "--node-pool a,b x.py",
                           "--node-selector a x.py",
                           "--node-selector a=b=c x.py",
                           "--toleration a:Never x.py",
                           "--toleration =b x.py",
                           "--required-topology-key a/b/c x.py",
                           "--required-topology-key a --preferred-topology-key b x.py",
                           "--shm much x.py",
                           "--toprun-image ./a.sif x.py",
                           "--runtime A x.py",
                           "--runtime job/a x.py",
                           "--toprun bin/toprun x.py",
                           "--secret-env A=b x.py",
                           "--secret-env A=B:c x.py",
                           "--secret-env 1A x.py",
                           "--env-from A x.py",
                           "--service-account a/b x.py",
                           "--image-pull-secret _ x.py",
                           "--run-as me x.py",
                           "--run-as 1: x.py",
                           "--gpu-resource gpu x.py",
                           "--mem 5i x.py",
                           "--dry-run=always x.py"}) {
    EXPECT_EQ(refused(line)->exit_code, exit_usage) << line;
  }
}

TEST(PodOptions, WhatThePodsCannotHoldTwiceIsSaidInOneLine) {
  for (const auto& [line, said] : std::vector<std::pair<const char*, const char*>>{
           {"--pvc a:/s --pvc b:/s/ x.py",
            "--pvc a:/s and --pvc b:/s/: only one claim can be mounted at a path; give them "
            "different paths"},
           {"--pvc a:/dev/shm x.py",
            "--pvc a:/dev/shm: the pods' shared memory is mounted at this path; give another path"},
           {"--pvc a:/toprun.io --toprun-image b x.py",
            "--pvc a:/toprun.io: --toprun-image puts the binary at this path; give another path"},
           {"--pvc Bad_Name:/s x.py",
            "--pvc Bad_Name:/s: 'Bad_Name' is not the name of a claim; write the name as kubectl "
            "get pvc "
            "lists it: a-z, 0-9, - and ."},
           {"--extended-resource rdma=1 x.py",
            "--extended-resource rdma=1: 'rdma' is not the name of an extended resource: such a "
            "name contains a domain; write the name as kubectl describe node prints it, as in "
            "rdma/hca=1"},
           {"--node-selector a=b --node-selector a=c x.py",
            "--node-selector a=b and --node-selector a=c: a label has one value; give only one of "
            "them"},
           {"--annotation a=b --annotation a=c x.py",
            "--annotation a=b and --annotation a=c: an annotation has one value; give only one of "
            "them"},
           {"--nodes 4-2 x.py",
            "--nodes 4-2: MIN is greater than MAX; write the smaller number first: MIN-MAX"},
           {"--nodes 4:2 x.py",
            "--nodes 4:2: MIN is greater than MAX; write the smaller number first: MIN:MAX"},
           {"--node-pool a,b x.py",
            "--node-pool a,b: is not the name of a node pool; repeat the option for each pool: "
            "--node-pool A --node-pool B"}}) {
    EXPECT_EQ(refused(line).line(), said);
  }
}

TEST(PodOptions, WhatIsGivenLastIsAVariablesValue) {
  const auto options = pods({"--container=a", "-e", "A=1", "-e", "B=1", "-e", "A=2", "x.py"});
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->job.variables,
            (std::vector<std::pair<std::string, std::string>>{{"B", "1"}, {"A", "2"}}));
}

TEST(PodOptions, OutputOnNoClaimIsNoted) {
  for (const auto& [line, note] : std::vector<std::pair<const char*, const char*>>{
           {"--pvc s:/s --log-dir /logs x.py",
            "--log-dir /logs is not on a claim of the job (--pvc): these files are lost when the "
            "pods are deleted"},
           {"--pvc s:/s --log-dir logs --chdir /opt x.py",
            "--log-dir logs is not on a claim of the job (--pvc): these files are lost when the "
            "pods are deleted"},
           {"--pvc s:/s:ro --log-dir /s/logs x.py",
            "--log-dir /s/logs is on a read-only claim: leave :ro out of the claim's --pvc"},
           {"--pvc s:/s --node-log /n x.py",
            "--node-log /n is not on a claim of the job (--pvc): these files are lost when the "
            "pods are deleted"},
           {"--pvc s:/s --report /r.json x.py",
            "--report /r.json is not on a claim of the job (--pvc): these files are lost when the "
            "pods are deleted"},
           {"--pvc s:/s --log-dir /s x.py", ""},
           {"--pvc s:/s --log-dir /s/../logs x.py",
            "--log-dir /s/../logs is not on a claim of the job (--pvc): these files are lost when "
            "the pods are deleted"},
           {"--pvc s:/s --log-dir logs --chdir /s/me --report /s/r.json x.py", ""}}) {
    Strings argv{"--container=r.io/a", "--gpus-per-node=0"};
    for (const std::string_view word : words(line)) argv.emplace_back(word);
    const auto options = pods(argv);
    ASSERT_TRUE(options) << options.error().line();
    EXPECT_EQ(join(options->notes, "; "), note) << line;
  }
}

TEST(PodOptions, AFilesWordsForSlurmAreNoted) {
  options::Split split = *options::split_verb({"--container=r.io/a", "--gpus-per-node=0", "x.py"},
                                              options::Command::submit);
  split.options.push_back(
      {options::find_flag("--partition", options::Command::submit), "gpu", "toprun.toml:3"});
  const auto options = pod_options(split, {}, {});
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->notes,
            Strings{"toprun.toml:3: partition = gpu has no effect: it works only with Slurm"});
}

}  // namespace
}  // namespace toprun::pods
