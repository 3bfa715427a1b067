#include <gtest/gtest.h>

#include "base/text/text.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

Run run_of(std::string image) {
  Run run;
  run.request.image = std::move(image);
  run.binds = {{.source = "/home/ada/project", .target = "/home/ada/project"},
               {.source = "/run/user/7/toprun", .target = "/run/toprun", .read_only = true}};
  run.workdir = "/home/ada/project";
  run.program = {"/run/toprun/toprun", "shim"};
  return run;
}

Node user() {
  return {.host = "n1", .uid = 1000, .gid = 100, .hard_nofile = 4096, .hard_nproc = 500};
}

std::string line(const Run& run, const Node& node) {
  const auto command = podman().command(run, node, {});
  return command ? shell_quote(command->argv) : "error: " + command.error().line();
}

TEST(Podman, Command) {
  EXPECT_EQ(line(run_of("docker://python:3.12"), user()),
            "podman run --rm --pull missing --quiet --log-driver none --network host --ipc host "
            "--pid host --uts host --security-opt label=disable --userns keep-id --user 1000:100 "
            "--group-add keep-groups --ulimit memlock=-1:-1 --ulimit nofile=4096:4096 "
            "--ulimit nproc=500:500 --volume /run/user/7/toprun:/run/toprun:ro "
            "--volume /home/ada/project:/home/ada/project --workdir /home/ada/project "
            "--entrypoint '' docker.io/library/python:3.12 /run/toprun/toprun shim");
}

// What changes with the node and with what is asked for.
struct Change {
  const char* title;
  std::function<void(Run&, Node&)> change;
  const char* there;
  const char* not_there;
};

const Change changes[] = {
    {"root", [](Run&, Node& node) { node.uid = 0; }, "--user 0:0 ", "keep-id"},
    {"container root", [](Run& run, Node&) { run.request.root = true; }, "--user 0:0 ", "keep-id"},
    {"memlock", [](Run&, Node& node) { node.hard_memlock = 65536; }, "memlock=65536:65536",
     "memlock=-1"},
    {"rdma", [](Run&, Node& node) { node.rdma_devices = {"/dev/infiniband"}; },
     "--device /dev/infiniband --cap-add IPC_LOCK", "nvidia"},
    {"nvidia", [](Run&, Node& node) { node.nvidia = node.nvidia_cdi = true; },
     "--device nvidia.com/gpu=all", "IPC_LOCK"},
    {"no gpu",
     [](Run& run, Node& node) {
       node.nvidia = node.amd = true;
       run.request.gpu = false;
     },
     "--rm", "--device"},
    {"amd", [](Run&, Node& node) { node.amd = true; }, "--device /dev/kfd --device /dev/dri",
     "nvidia"},
    {"no CDI", [](Run&, Node& node) { node.nvidia = true; },
     "error: n1: podman cannot pass the GPUs to the container: no file in /etc/cdi or /var/run/cdi",
     "--rm"},
    {"variables",
     [](Run& run, Node&) {
       run.variables = {{"A", "x y"}};
     },
     "--env 'A=x y'", "-t "},
    {"terminal", [](Run& run, Node&) { run.interactive = true; }, "--interactive --tty", "nvidia"},
    {"local", [](Run& run, Node&) { run.request.image = "small"; }, "'' small /run/toprun",
     "docker"},
    {"digest",
     [](Run& run, Node&) { run.request.image = "localhost/a@sha256:" + std::string(64, 'a'); },
     "'' localhost/a@sha256:aaaa", "docker"},
    {"archive", [](Run& run, Node&) { run.request.image = "/scratch/a.tar"; },
     "docker-archive:/scratch/a.tar", "--rootfs"},
    {"folder", [](Run& run, Node&) { run.request.image = "./rootfs"; },
     "--rootfs ./rootfs /run/toprun/toprun", "docker"},
};

TEST(Podman, Parts) {
  for (const Change& test : changes) {
    container::Run run = run_of("docker://python:3.12");
    Node node = user();
    test.change(run, node);
    const std::string words = line(run, node);
    EXPECT_TRUE(words.contains(test.there)) << test.title << ": " << words;
    EXPECT_FALSE(words.contains(test.not_there)) << test.title << ": " << words;
  }
}

TEST(Podman, Refuses) {
  EXPECT_TRUE(podman().accepts("python:3.12"));
  EXPECT_EQ(podman().accepts("/scratch/a.sif").error().line(),
            "container image /scratch/a.sif: podman cannot run a SIF file; "
            "use --container-runtime apptainer");
  EXPECT_EQ(podman().accepts("oras://ghcr.io/a/b").error().line(),
            "container image oras://ghcr.io/a/b: podman does not know the transport oras://; "
            "use --container-runtime apptainer");
}

}  // namespace
}  // namespace toprun::container
