#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

class Docker final : public Runtime {
 public:
  std::string_view name() const override { return "docker"; }
  std::string_view program() const override { return "docker"; }
  Tried tried() const override { return Tried::parsed; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = TRY(parse_image(text));
    const std::string what = fmt::format("container image {}", text);
    switch (image.kind) {
      case ImageKind::reference:
        break;
      case ImageKind::sif:
        return usage(what, "docker cannot run a SIF file", "use --container-runtime apptainer");
      case ImageKind::squashfs:
        return usage(what, "docker cannot run a squashfs file", "use --container-runtime enroot");
      case ImageKind::archive:
        return usage(
            what, "docker cannot run an archive directly",
            fmt::format(
                "load the archive with `docker load -i {}`, then give the name of the image",
                image.path));
      case ImageKind::folder:
        return usage(what, "docker cannot run a folder", "use --container-runtime podman");
    }
    const std::string_view transport = image.transport;
    if (transport.empty() || transport == "docker" || transport == "docker-daemon" ||
        transport == "dockerd") {
      return {};
    }
    return usage(what, fmt::format("docker does not know the transport {}", transport),
                 "use --container-runtime apptainer");
  }

  Result<Command> command(const Run& run, const Node& node,
                          const Environment& environment) const override {
    const auto image = TRY(parse_image(run.request.image));
    if (!run.request.name.empty()) {
      return usage(
          fmt::format("--container-name {}", run.request.name),
          "docker cannot start an existing container again with other folders and another program",
          "build an image that contains your changes, or use --container-runtime podman");
    }
    Arguments words({"docker", "run", "--rm", "--pull", "missing", "--log-driver", "none",
                     "--network", "host", "--ipc", "host", "--pid", "host", "--uts", "host",
                     "--security-opt", "label=disable"});
    if (!run.id.empty()) words.add("--name", run.id);
    const bool as_root = run.request.root || node.uid == 0;
    words.add("--user", as_root ? "0:0" : fmt::format("{}:{}", node.uid, node.gid));
    words.add("--ulimit", "memlock=-1:-1");
    for (const std::string& device : node.rdma_devices) words.add("--device", device);
    if (!node.rdma_devices.empty()) words.add("--cap-add", "IPC_LOCK");
    if (run.request.gpu && node.amd) {
      words.add("--device", "/dev/kfd");
      words.add("--device", "/dev/dri");
      words.add("--group-add", "video");
    }
    if (run.request.gpu && node.nvidia) {
      const auto numbers = renumbered_gpus(environment);
      words.add("--gpus",
                numbers.empty() ? "all" : fmt::format("\"device={}\"", join(numbers, ",")));
    }
    for (const Bind& bind : in_order(run.binds)) words.add("--mount", mount_form(bind));
    Environment with = environment;
    for (const auto& [name, value] : run.variables) {
      words.add("--env", variable_word(name, value, with));
    }
    words.add("--workdir", run.workdir);
    if (run.interactive) words.add("--interactive", "--tty");
    words.add("--entrypoint", "");
    const bool is_stored = image.transport == "docker-daemon" || image.transport == "dockerd";
    words.add(is_stored ? image.path : registry_reference(image));
    words.add_all(run.program);
    return Command{words.take(), std::move(with)};
  }

  std::optional<Command> removal(const Run& run, const Environment& environment) const override {
    return Command{{"docker", "rm", "--force", run.id}, environment};
  }
};

}  // namespace

const Runtime& docker() {
  static const Docker runtime;
  return runtime;
}

}  // namespace toprun::container
