#include "container/podman.h"

#include "base/text.h"
#include "container/binds.h"
#include "container/image.h"

namespace toprun::container {
namespace {

// Words of argv, a flag and its value as two of them.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}

  void add(std::string flag, std::string value) {
    words_.push_back(std::move(flag));
    words_.push_back(std::move(value));
  }
  void add(std::string word) { words_.push_back(std::move(word)); }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

std::string limit(std::string_view name, std::optional<rlim_t> hard) {
  if (!hard) return fmt::format("{}=-1:-1", name);
  return fmt::format("{0}={1}:{1}", name, *hard);
}

// What Podman sets by itself is more than an unprivileged user may have, or less than RDMA needs.
void add_limits(Words& words, const Node& node) {
  words.add("--ulimit", limit("memlock", node.hard_memlock));
  words.add("--ulimit", limit("nofile", node.hard_nofile));
  words.add("--ulimit", limit("nproc", node.hard_nproc));
}

// Files of the project belong to the same user inside, and groups of shared folders stay in force.
void add_user(Words& words, const Run& run, const Node& node) {
  if (run.wanted.root || node.uid == 0) return words.add("--user", "0:0");
  words.add("--userns", "keep-id");
  words.add("--user", fmt::format("{}:{}", node.uid, node.gid));
  words.add("--group-add", "keep-groups");
}

Result<void> add_devices(Words& words, const Run& run, const Node& node) {
  for (const std::string& device : node.rdma_devices) words.add("--device", device);
  if (!node.rdma_devices.empty()) words.add("--cap-add", "IPC_LOCK");
  if (!run.wanted.gpu) return {};
  if (node.amd) {
    words.add("--device", "/dev/kfd");
    words.add("--device", "/dev/dri");
  }
  if (!node.nvidia) return {};
  if (!node.nvidia_cdi) {
    return fail(fmt::format("{}: podman cannot hand over the GPUs", node.host),
                "no file in /etc/cdi or /var/run/cdi describes them",
                "let root run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` there, or "
                "say --no-gpu");
  }
  words.add("--device", "nvidia.com/gpu=all");
  return {};
}

void add_binds(Words& words, const Run& run) {
  for (const Bind& bind : in_order(run.binds)) {
    words.add("--volume",
              fmt::format("{}:{}{}", bind.source, bind.target, bind.read_only ? ":ro" : ""));
  }
}

// As `podman run` takes it after its flags.
std::string image_word(const Image& image) {
  if (image.kind == ImageKind::archive) {
    return fmt::format("{}:{}", image.transport.empty() ? "docker-archive" : image.transport,
                       image.path);
  }
  if (image.transport == "docker-daemon" || image.transport == "containers-storage") {
    return fmt::format("{}:{}", image.transport, image.path);
  }
  return registry_reference(image);
}

class Podman final : public Runtime {
 public:
  std::string_view name() const override { return "podman"; }
  std::string_view program() const override { return "podman"; }
  Tried tried() const override { return Tried::run; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = parse_image(text);
    if (!image) return std::unexpected(image.error());
    if (image->kind == ImageKind::sif || image->kind == ImageKind::squashfs) {
      return usage(fmt::format("container image {}", text),
                   fmt::format("podman runs no {}", kind_name(image->kind)),
                   image->kind == ImageKind::sif ? "say --container-runtime apptainer"
                                                 : "say --container-runtime enroot");
    }
    const std::string_view transport = image->transport;
    if (image->is_path() || transport.empty() || transport == "docker" ||
        transport == "docker-daemon" || transport == "containers-storage") {
      return {};
    }
    return usage(fmt::format("container image {}", text),
                 fmt::format("podman has no transport {}://", transport),
                 "say --container-runtime apptainer");
  }

  Result<Command> command(const Run& run, const Node& node,
                          const Environment& environment) const override {
    const auto image = parse_image(run.wanted.image);
    if (!image) return std::unexpected(image.error());
    Words words({"podman", "run", "--rm", "--pull", "missing", "--quiet", "--log-driver", "none",
                 "--network", "host", "--ipc", "host", "--pid", "host", "--uts", "host",
                 "--security-opt", "label=disable"});
    add_user(words, run, node);
    add_limits(words, node);
    if (auto added = add_devices(words, run, node); !added) {
      return std::unexpected(std::move(added.error()));
    }
    add_binds(words, run);
    for (const auto& [name, value] : run.variables) {
      words.add("--env", fmt::format("{}={}", name, value));
    }
    words.add("--workdir", run.workdir);
    if (run.interactive) words.add("--interactive", "--tty");
    words.add("--entrypoint", "");
    if (image->kind == ImageKind::folder) {
      words.add("--rootfs", image->path);
    } else {
      words.add(image_word(*image));
    }
    for (const std::string& word : run.program) words.add(word);
    return Command{words.take(), environment};
  }
};

}  // namespace

const Runtime& podman() {
  static const Podman runtime;
  return runtime;
}

}  // namespace toprun::container
