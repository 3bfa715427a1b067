#include "machine/container/runtimes.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::container {
namespace {

Run run_in(std::string image, std::string name = {}) {
  container::Run run;
  run.request.image = std::move(image);
  run.request.name = std::move(name);
  run.binds = {{.source = "/home/ada/project", .target = "/home/ada/project"},
               {.source = "/run/user/7/toprun", .target = "/run/toprun", .read_only = true}};
  run.workdir = "/home/ada/project";
  run.program = {"/run/toprun/toprun", "shim"};
  return run;
}

Run everything(std::string image) {
  container::Run run = run_in(std::move(image));
  run.request.root = true;
  run.request.writable = true;
  run.request.host_wins = {"NCCL_*", "LANG"};
  run.variables = {{"A", "x, y"}};
  return run;
}

Node plain_user() {
  return {.host = "n1", .uid = 1000, .gid = 100};
}

Node gpu_node() {
  Node node = plain_user();
  node.nvidia = node.nvidia_cdi = true;
  node.rdma_devices = {"/dev/infiniband"};
  return node;
}

const Environment ada{{"HOME", "/home/ada"}, {"SCRATCH", "/scratch/ada"}};

std::string line(const Runtime& runtime, const Run& run, const Node& node) {
  const auto command = runtime.command(run, node, ada);
  return command ? shell_quote(command->argv) : "error: " + command.error().line();
}

std::string creation(const Runtime& runtime, const Run& run) {
  std::string lines;
  for (const Command& command : runtime.creation(run, plain_user(), ada)) {
    lines += shell_quote(command.argv) + "\n";
  }
  return lines;
}

TEST(Build, OneCommandWritesTheFile) {
  struct Case {
    const Runtime& runtime;
    std::string source;
    std::string line;
  };
  const Case cases[] = {
      {apptainer(), "docker://pytorch/pytorch:2.6",
       "apptainer build --force /p/t.sif.part docker://docker.io/pytorch/pytorch:2.6"},
      {apptainer(), "/a/saved.tar",
       "apptainer build --force /p/t.sif.part docker-archive:/a/saved.tar"},
      {apptainer(), "./tree", "apptainer build --force /p/t.sif.part ./tree"},
      {singularity(), "docker://python:3.12",
       "singularity build --force /p/t.sif.part docker://docker.io/library/python:3.12"},
      {enroot(), "docker://nvcr.io/nvidia/pytorch:24.06-py3",
       "enroot import -o /p/t.sif.part 'docker://nvcr.io#nvidia/pytorch:24.06-py3'"},
      {enroot(), "/a/saved.tar",
       "error: image /a/saved.tar: enroot imports only from registries and daemons; build a .sif "
       "file from this image with Apptainer"},
      {podman(), "docker://python",
       "error: image file /p/t.sif.part: podman cannot build image files; give the name of a .sif "
       "file (Apptainer) or a .sqsh file (enroot)"},
  };
  for (const auto& [runtime, source, expected] : cases) {
    const auto command = runtime.build(source, "/p/t.sif.part", ada);
    EXPECT_EQ(command ? shell_quote(command->argv) : "error: " + command.error().line(), expected);
  }
  const auto with = apptainer().build("docker://python", "/p/t.sif", ada);
  EXPECT_EQ(with->environment.get("APPTAINER_CACHEDIR"), "/scratch/ada/toprun/cache/apptainer");
  EXPECT_EQ(enroot().build("docker://python", "/p", ada)->environment.get("ENROOT_CACHE_PATH"),
            "/scratch/ada/toprun/cache/enroot");
}

TEST(Apptainer, Command) {
  EXPECT_EQ(line(apptainer(), run_in("/a/t.sif"), plain_user()),
            "apptainer --quiet exec --cleanenv --bind /run/user/7/toprun:/run/toprun:ro "
            "--bind /home/ada/project:/home/ada/project --pwd /home/ada/project /a/t.sif "
            "/run/toprun/toprun shim");
  EXPECT_EQ(line(singularity(), everything("/a/t.sif"), gpu_node()),
            "singularity --quiet exec --cleanenv --nv --fakeroot --writable-tmpfs "
            "--bind /run/user/7/toprun:/run/toprun:ro "
            "--bind /home/ada/project:/home/ada/project --pwd /home/ada/project /a/t.sif "
            "/run/toprun/toprun shim");
  EXPECT_TRUE(
      line(apptainer(), everything("/a/folder"), plain_user()).contains(" --writable --bind"));
}

TEST(Apptainer, VariablesGoByTheEnvironmentSoThatTheyMayHoldCommas) {
  const auto one = apptainer().command(everything("/a/t.sif"), plain_user(), ada);
  EXPECT_EQ(one->environment.get("APPTAINERENV_A"), "x, y");
  const auto other = singularity().command(everything("/a/t.sif"), plain_user(), ada);
  EXPECT_EQ(other->environment.get("SINGULARITYENV_A"), "x, y");
}

TEST(Apptainer, OddPaths) {
  container::Run run = run_in("/a/t.sif");
  run.binds = {{"/a,b:\"c\"", "/d", true}};
  EXPECT_TRUE(line(apptainer(), run, plain_user())
                  .contains(R"(--mount 'type=bind,"source=/a,b:""c""","destination=/d",ro')"));
}

TEST(Apptainer, WhatIsMadeBefore) {
  EXPECT_FALSE(apptainer().product(run_in("/a/t.sif"), ada));
  EXPECT_EQ(creation(apptainer(), run_in("docker://pytorch/pytorch:2.4")),
            "rm -rf /scratch/ada/toprun/containers/docker.io+pytorch+pytorch+2.4.sif.part\n"
            "apptainer pull --force "
            "/scratch/ada/toprun/containers/docker.io+pytorch+pytorch+2.4.sif.part "
            "docker://docker.io/pytorch/pytorch:2.4\n"
            "mv -T /scratch/ada/toprun/containers/docker.io+pytorch+pytorch+2.4.sif.part "
            "/scratch/ada/toprun/containers/docker.io+pytorch+pytorch+2.4.sif\n");
  EXPECT_EQ(creation(apptainer(), run_in("/a/t.sif", "mine")),
            "rm -rf /scratch/ada/toprun/containers/mine.part\n"
            "apptainer build --force --sandbox /scratch/ada/toprun/containers/mine.part /a/t.sif\n"
            "mv -T /scratch/ada/toprun/containers/mine.part /scratch/ada/toprun/containers/mine\n");
  EXPECT_TRUE(line(apptainer(), run_in("/a/t.sif", "mine"), plain_user())
                  .contains(" /scratch/ada/toprun/containers/mine /run/toprun/toprun"));
  const auto pull = apptainer().creation(run_in("docker://a/b"), plain_user(), ada);
  EXPECT_EQ(pull.front().environment.get("APPTAINER_CACHEDIR"),
            "/scratch/ada/toprun/cache/apptainer");
}

TEST(Docker, Command) {
  EXPECT_EQ(line(docker(), run_in("docker://a/b:1"), gpu_node()),
            "docker run --rm --pull missing --log-driver none --network host --ipc host --pid host "
            "--uts host --security-opt label=disable --user 1000:100 --ulimit memlock=-1:-1 "
            "--device /dev/infiniband --cap-add IPC_LOCK --gpus all "
            "--mount 'type=bind,\"source=/run/user/7/toprun\",\"destination=/run/toprun\",ro' "
            "--mount 'type=bind,\"source=/home/ada/project\",\"destination=/home/ada/project\"' "
            "--workdir /home/ada/project --entrypoint '' docker.io/a/b:1 /run/toprun/toprun shim");
  EXPECT_TRUE(
      line(docker(), run_in("a", "mine"), plain_user()).starts_with("error: --container-name"));
}

TEST(Docker, GpusThatTheJobKnowsByOtherNumbers) {
  const Environment job{{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}};
  const auto words = [&](const Runtime& runtime) {
    return shell_quote(runtime.command(run_in("a"), gpu_node(), job)->argv);
  };
  EXPECT_TRUE(words(docker()).contains("--gpus '\"device=4,5\"'"));
  EXPECT_TRUE(words(podman()).contains("--device nvidia.com/gpu=4 --device nvidia.com/gpu=5"));
  EXPECT_FALSE(words(podman()).contains("gpu=all"));
}

TEST(Runtimes, ASecretIsInNoCommandLine) {
  container::Run run = run_in("docker://a/b:1");
  run.variables = {{"HF_TOKEN", "hush"}, {"A", "1"}};
  for (const Runtime* runtime : {&docker(), &podman(), &apptainer()}) {
    const auto command = runtime->command(run, plain_user(), ada);
    ASSERT_TRUE(command);
    const std::string words = shell_quote(command->argv);
    EXPECT_FALSE(words.contains("hush")) << words;
    if (runtime == &apptainer()) continue;
    EXPECT_TRUE(words.contains("--env HF_TOKEN ")) << words;
    EXPECT_TRUE(words.contains("--env A=1")) << words;
    EXPECT_EQ(command->environment.get("HF_TOKEN"), "hush");
  }
  run.request.image = "/a/t.sqsh";
  EXPECT_FALSE(line(enroot(), run, plain_user()).contains("hush"));
}

TEST(Enroot, Command) {
  EXPECT_EQ(line(enroot(), run_in("/a/t.sqsh"), plain_user()),
            "enroot start --mount /run/user/7/toprun:/run/toprun:none:x-create=auto,rbind,ro "
            "--mount /home/ada/project:/home/ada/project:none:x-create=auto,rbind /a/t.sqsh "
            "/run/toprun/toprun shim");
  EXPECT_EQ(line(enroot(), everything("/a/t.sqsh"), gpu_node()),
            "enroot start --root --rw "
            "--mount /run/user/7/toprun:/run/toprun:none:x-create=auto,rbind,ro "
            "--mount /home/ada/project:/home/ada/project:none:x-create=auto,rbind "
            "--env NVIDIA_VISIBLE_DEVICES=all --env MELLANOX_VISIBLE_DEVICES=all --env 'A=x, y' "
            "/a/t.sqsh /run/toprun/toprun shim");
  EXPECT_TRUE(
      line(enroot(), run_in("mine"), plain_user()).ends_with(" mine /run/toprun/toprun shim"));
  container::Run run = run_in("/a/t.sqsh");
  run.binds = {{"/a b", "/c"}};
  EXPECT_TRUE(line(enroot(), run, plain_user()).starts_with("error: n1: enroot cannot bind /a b"));
}

TEST(Enroot, WhatIsMadeBefore) {
  EXPECT_EQ(creation(enroot(), run_in("/a/t.sqsh")), "");
  EXPECT_EQ(creation(enroot(), run_in("mine")), "");
  EXPECT_EQ(creation(enroot(), run_in("/a/t.sqsh", "mine")), "enroot create -n mine /a/t.sqsh\n");
  const std::string file = "/scratch/ada/toprun/containers/nvcr.io+nvidia+pytorch+24.06-py3.sqsh";
  EXPECT_EQ(creation(enroot(), run_in("nvcr.io/nvidia/pytorch:24.06-py3", "mine")),
            fmt::format("rm -f {0}.part\nmkdir -p /scratch/ada/toprun/containers\n"
                        "enroot import -o {0}.part 'docker://nvcr.io#nvidia/pytorch:24.06-py3'\n"
                        "mv -T {0}.part {0}\nenroot create -n mine {0}\n",
                        file));
  EXPECT_TRUE(line(enroot(), run_in("docker://nvcr.io/nvidia/pytorch:24.06-py3"), plain_user())
                  .ends_with(file + " /run/toprun/toprun shim"));
}

TEST(Pyxis, StepOptions) {
  EXPECT_EQ(shell_quote(pyxis().step_options(run_in("nvcr.io/nvidia/pytorch:24.06-py3", "mine"))),
            "'--container-image=nvcr.io#nvidia/pytorch:24.06-py3' "
            "--container-mounts=/run/user/7/toprun:/run/toprun:ro,"
            "/home/ada/project:/home/ada/project --container-workdir=/home/ada/project "
            "--container-name=mine --no-container-entrypoint --no-container-remap-root");
  EXPECT_EQ(shell_quote(pyxis().step_options(everything("/a/t.sqsh"))),
            "--container-image=/a/t.sqsh --container-mounts=/run/user/7/toprun:/run/toprun:ro,"
            "/home/ada/project:/home/ada/project --container-workdir=/home/ada/project "
            "--no-container-entrypoint --container-remap-root --container-writable "
            "--container-env=LANG,A");
  EXPECT_TRUE(
      line(pyxis(), run_in("a"), plain_user()).starts_with("error: n1: pyxis cannot start"));
}

TEST(Podman, KeptContainer) {
  const std::string folder = "/scratch/ada/toprun/containers/mine";
  EXPECT_TRUE(line(podman(), run_in("small", "mine"), plain_user())
                  .ends_with(fmt::format("--env-file {0}/.toprun-env --rootfs {0} "
                                         "/run/toprun/toprun shim",
                                         folder)));
  const std::string made = creation(podman(), run_in("small", "mine"));
  EXPECT_TRUE(
      made.contains("podman create --quiet --pull missing --name toprun-mine "
                    "--entrypoint '' small true\n"));
  EXPECT_TRUE(made.ends_with(fmt::format("mv -T {0}.part {0}\n", folder)));
}

// "": it takes the image.
TEST(Runtimes, WhatTheyTake) {
  struct Case {
    const char* image;
    const char* pyxis;
    const char* enroot;
    const char* apptainer;
    const char* podman;
    const char* docker;
  };
  const Case cases[] = {
      {"python:3.12", "", "", "", "", ""},
      {"docker://a/b", "", "", "", "", ""},
      {"a.sif", "use --container-runtime apptainer", "use --container-runtime apptainer", "",
       "use --container-runtime apptainer", "use --container-runtime apptainer"},
      {"a.sqsh", "", "", "", "use --container-runtime enroot", "use --container-runtime enroot"},
      {"./a", "use --container-runtime podman", "use --container-runtime podman", "", "",
       "use --container-runtime podman"},
      {"a.tar", "use --container-runtime podman", "use --container-runtime podman", "", "",
       "load the archive with `docker load -i a.tar`, then give the name of the image"},
      {"oras://a.b/c", "use --container-runtime podman", "use --container-runtime podman", "",
       "use --container-runtime apptainer", "use --container-runtime apptainer"},
      {"dockerd://a", "use --container-runtime podman", "", "use --container-runtime enroot",
       "use --container-runtime apptainer", ""},
      {"containers-storage:a", "use --container-runtime podman", "use --container-runtime podman",
       "use --container-runtime podman", "", "use --container-runtime apptainer"},
  };
  const auto fix = [](const Runtime& runtime, const char* image) {
    const auto taken = runtime.accepts(image);
    return taken ? std::string() : taken.error()->fix;
  };
  for (const Case& test : cases) {
    EXPECT_EQ(fix(pyxis(), test.image), test.pyxis) << test.image;
    EXPECT_EQ(fix(enroot(), test.image), test.enroot) << test.image;
    EXPECT_EQ(fix(apptainer(), test.image), test.apptainer) << test.image;
    EXPECT_EQ(fix(podman(), test.image), test.podman) << test.image;
    EXPECT_EQ(fix(docker(), test.image), test.docker) << test.image;
  }
}

TEST(Runtimes, AnnotationsWithoutEffectAreNamed) {
  container::Run run = run_in("a");
  run.request.annotations = {{"com.hooks.cxi.enabled", "true"}};
  EXPECT_EQ(
      apptainer().notes(run),
      std::vector<std::string>{"annotation com.hooks.cxi.enabled: has no effect with apptainer"});
  EXPECT_TRUE(podman().notes(run).empty());
  EXPECT_TRUE(
      line(podman(), run, plain_user()).contains("--annotation com.hooks.cxi.enabled=true"));
}

}  // namespace
}  // namespace toprun::container
