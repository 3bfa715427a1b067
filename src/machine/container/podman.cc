#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/places.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

std::string limit(std::string_view name, std::optional<rlim_t> hard) {
  if (!hard) return fmt::format("{}=-1:-1", name);
  return fmt::format("{0}={1}:{1}", name, *hard);
}

// Podman's own limits are higher than an unprivileged user may have, or lower than RDMA needs.
void add_limits(Arguments& words, const Node& node) {
  words.add("--ulimit", limit("memlock", node.hard_memlock));
  words.add("--ulimit", limit("nofile", node.hard_nofile));
  words.add("--ulimit", limit("nproc", node.hard_nproc));
}

// Files of the project belong to the same user inside, and groups of shared folders stay in force.
void add_user(Arguments& words, const Run& run, const Node& node) {
  if (run.request.root || node.uid == 0) return words.add("--user", "0:0");
  words.add("--userns", "keep-id");
  words.add("--user", fmt::format("{}:{}", node.uid, node.gid));
  words.add("--group-add", "keep-groups");
}

Result<void> add_devices(Arguments& words, const Run& run, const Node& node,
                         const Environment& environment) {
  for (const std::string& device : node.rdma_devices) words.add("--device", device);
  if (!node.rdma_devices.empty()) words.add("--cap-add", "IPC_LOCK");
  if (!run.request.gpu) return {};
  if (node.amd) {
    words.add("--device", "/dev/kfd");
    words.add("--device", "/dev/dri");
  }
  if (!node.nvidia) return {};
  if (!node.nvidia_cdi) {
    return fail(fmt::format("{}: podman cannot pass the GPUs to the container", node.host),
                "no file in /etc/cdi or /var/run/cdi describes the GPUs",
                "run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` as root on that host, "
                "or use --no-gpu");
  }
  const auto numbers = renumbered_gpus(environment);
  if (numbers.empty()) words.add("--device", "nvidia.com/gpu=all");
  for (const std::string& number : numbers) words.add("--device", "nvidia.com/gpu=" + number);
  return {};
}

// The image as `podman run` expects it after its flags.
std::string podman_image(const Image& image) {
  if (image.kind == ImageKind::archive) {
    return fmt::format("{}:{}", image.transport.empty() ? "docker-archive" : image.transport,
                       image.path);
  }
  if (image.transport == "docker-daemon" || image.transport == "containers-storage") {
    return fmt::format("{}:{}", image.transport, image.path);
  }
  return registry_reference(image);
}

constexpr std::string_view variables_file = ".toprun-env";
constexpr const char* inspect_script =
    "exec podman container inspect --format "
    "'{{range .Config.Env}}{{println .}}{{end}}' \"$1\" >\"$2\"";

std::vector<Command> commands_of(std::vector<std::vector<std::string>> steps,
                                 const Environment& environment) {
  std::vector<Command> commands;
  for (auto& argv : steps) commands.push_back({std::move(argv), environment});
  return commands;
}

class Podman final : public Runtime {
 public:
  std::string_view name() const override { return "podman"; }
  std::string_view program() const override { return "podman"; }
  Tried tried() const override { return Tried::run; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = TRY(parse_image(text));
    if (image.kind == ImageKind::sif || image.kind == ImageKind::squashfs) {
      return usage(fmt::format("container image {}", text),
                   fmt::format("podman cannot run a {}", kind_name(image.kind)),
                   image.kind == ImageKind::sif ? "use --container-runtime apptainer"
                                                : "use --container-runtime enroot");
    }
    const std::string_view transport = image.transport;
    if (image.is_path() || transport.empty() || transport == "docker" ||
        transport == "docker-daemon" || transport == "containers-storage") {
      return {};
    }
    return usage(fmt::format("container image {}", text),
                 fmt::format("podman does not know the transport {}://", transport),
                 "use --container-runtime apptainer");
  }

  // Podman cannot run a kept container again with other folders and another program, so a kept
  // container is a separate folder. A file in it has the image's variables, which a folder lacks.
  std::optional<SourcedPath> product(const Run& run,
                                     const Environment& environment) const override {
    if (run.request.name.empty()) return std::nullopt;
    return containers_path(environment) / run.request.name;
  }

  std::vector<Command> creation(const Run& run, const Node&,
                                const Environment& environment) const override {
    const auto kept = product(run, environment);
    const auto image = parse_image(run.request.image);
    if (!kept || !image) return {};
    const std::string part = kept->path + ".part";
    const std::string variables = fmt::format("{}/{}", part, variables_file);
    if (image->kind == ImageKind::folder) {
      return commands_of({{"rm", "-rf", part},
                          {"cp", "-a", "-T", image->path, part},
                          {"touch", variables},
                          {"mv", "-T", part, kept->path}},
                         environment);
    }
    const std::string source = podman_image(*image);
    const std::string archive = kept->path + ".tar";
    const std::string made = "toprun-" + run.request.name;
    return commands_of({{"rm", "-rf", part},
                        {"podman", "rm", "--force", "--ignore", made},
                        {"podman", "create", "--quiet", "--pull", "missing", "--name", made,
                         "--entrypoint", "", source, "true"},
                        {"podman", "export", "--output", archive, made},
                        {"mkdir", part},
                        {"tar", "-x", "-f", archive, "-C", part},
                        {"rm", archive},
                        {"sh", "-c", inspect_script, "sh", made, variables},
                        {"podman", "rm", "--force", made},
                        {"mv", "-T", part, kept->path}},
                       environment);
  }

  std::vector<std::string> notes(const Run&) const override { return {}; }

  Result<Command> command(const Run& run, const Node& node,
                          const Environment& environment) const override {
    const auto image = TRY(parse_image(run.request.image));
    Arguments words({"podman", "run", "--rm", "--pull", "missing", "--quiet", "--log-driver",
                     "none", "--network", "host", "--ipc", "host", "--pid", "host", "--uts", "host",
                     "--security-opt", "label=disable"});
    if (!run.id.empty()) words.add("--name", run.id);
    add_user(words, run, node);
    add_limits(words, node);
    TRY(add_devices(words, run, node, environment));
    add_binds(words, run, "--volume");
    Environment with = environment;
    for (const auto& [name, value] : run.variables) {
      words.add("--env", variable_word(name, value, with));
    }
    // The site's hooks (oci-hooks(5)) read them.
    for (const auto& [name, value] : run.request.annotations) {
      words.add("--annotation", fmt::format("{}={}", name, value));
    }
    words.add("--workdir", run.workdir);
    if (run.interactive) words.add("--interactive", "--tty");
    words.add("--entrypoint", "");
    if (const auto kept = product(run, environment)) {
      words.add("--env-file", fmt::format("{}/{}", kept->path, variables_file));
      words.add("--rootfs", kept->path);
    } else if (image.kind == ImageKind::folder) {
      words.add("--rootfs", image.path);
    } else {
      words.add(podman_image(image));
    }
    words.add_all(run.program);
    return Command{words.take(), std::move(with)};
  }

  std::optional<Command> removal(const Run& run, const Environment& environment) const override {
    return Command{{"podman", "rm", "--force", "--ignore", "--time", "0", run.id}, environment};
  }
};

}  // namespace

const Runtime& podman() {
  static const Podman runtime;
  return runtime;
}

}  // namespace toprun::container
