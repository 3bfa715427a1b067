#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/enroot_conf.h"
#include "machine/container/image.h"
#include "machine/container/places.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

// "docker://[USER@][REGISTRY#]IMAGE[:TAG]", or a daemon's.
std::string uri(const Image& image) {
  if (image.transport == "dockerd" || image.transport == "podman") {
    return fmt::format("{}://{}", image.transport, image.path);
  }
  if (image.transport == "docker-daemon") return "dockerd://" + image.path;
  return fmt::format("docker://{}{}{}{}{}{}{}{}", image.user, image.user.empty() ? "" : "@",
                     image.registry, image.registry.empty() ? "" : "#", image.name,
                     image.tag.empty() ? "" : ":" + image.tag, image.digest.empty() ? "" : "@",
                     image.digest);
}

bool is_container(const Image& image) {
  return image.kind == ImageKind::reference && image.transport.empty() && image.registry.empty() &&
         image.tag.empty() && image.digest.empty() && !image.name.contains('/');
}

class Enroot final : public Runtime {
 public:
  std::string_view name() const override { return "enroot"; }
  std::string_view program() const override { return "enroot"; }
  Tried tried() const override { return Tried::parsed; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = TRY(parse_image(text));
    const std::string_view transport = image.transport;
    const bool is_remote = image.kind == ImageKind::reference &&
                           (transport.empty() || transport == "docker" || transport == "dockerd" ||
                            transport == "podman" || transport == "docker-daemon");
    if (is_remote || image.kind == ImageKind::squashfs) return {};
    return usage(
        fmt::format("container image {}", text),
        "enroot accepts only a .sqsh file, an image in a registry or the name of a container",
        image.kind == ImageKind::sif ? "use --container-runtime apptainer"
                                     : "use --container-runtime podman");
  }

  std::optional<SourcedPath> product(const Run& run,
                                     const Environment& environment) const override {
    const auto image = parse_image(run.request.image);
    if (!image || is_container(*image)) return std::nullopt;
    if (!run.request.name.empty()) {
      return enroot_data_path(environment) / run.request.name;
    }
    if (image->is_path()) return std::nullopt;
    return imported(*image, environment);
  }

  std::vector<Command> creation(const Run& run, const Node&,
                                const Environment& environment) const override {
    const auto image = parse_image(run.request.image);
    if (!image || !product(run, environment)) return {};
    std::vector<Command> commands;
    std::string file = image->path;
    if (!image->is_path()) {
      file = imported(*image, environment).path;
      const std::string part = file + ".part";
      commands.push_back({{"rm", "-f", part}, environment});
      commands.push_back({{"mkdir", "-p", containers_path(environment).path}, environment});
      commands.push_back({{"enroot", "import", "-o", part, uri(*image)}, environment});
      commands.push_back({{"mv", "-T", part, file}, environment});
    }
    if (run.request.name.empty()) return commands;
    commands.push_back({{"enroot", "create", "-n", run.request.name, file}, environment});
    return commands;
  }

  Result<Command> build(std::string_view source, const std::string& file,
                        const Environment& environment) const override {
    const auto image = TRY(parse_image(source));
    if (image.is_path()) {
      return usage(fmt::format("image {}", source),
                   "enroot imports only from registries and daemons",
                   "build a .sif file from this image with Apptainer");
    }
    return Command{{"enroot", "import", "-o", file, uri(image)}, with_enroot_folders(environment)};
  }

  Result<Command> command(const Run& run, const Node& node,
                          const Environment& environment) const override {
    const auto image = TRY(parse_image(run.request.image));
    Arguments words({"enroot", "start"});
    if (run.request.root) words.add("--root");
    if (run.request.writable) words.add("--rw");
    for (const Bind& bind : in_order(run.binds)) {
      if ((bind.source + bind.target).find_first_of(" :") != std::string::npos) {
        return fail(fmt::format("{}: enroot cannot bind {}", node.host, printable(bind.source)),
                    "enroot does not accept a path that contains a blank or ':'",
                    "use another folder, or --container-runtime apptainer");
      }
      words.add("--mount", fmt::format("{}:{}:none:x-create=auto,rbind{}", bind.source, bind.target,
                                       bind.read_only ? ",ro" : ""));
    }
    Environment with = environment;
    add_variables(words, run, node, with);
    words.add(word_of(run, image, environment));
    words.add_all(run.program);
    return Command{words.take(), std::move(with)};
  }

 private:
  static SourcedPath imported(const Image& image, const Environment& environment) {
    return containers_path(environment) / (file_name(image) + ".sqsh");
  }

  // The container to start: its name, or a file.
  std::string word_of(const Run& run, const Image& image, const Environment& environment) const {
    if (is_container(image)) return image.name;
    if (!run.request.name.empty()) return run.request.name;
    return image.is_path() ? image.path : imported(image, environment).path;
  }

  // Its hooks 98-nvidia.sh and 99-mellanox.sh go by the container's variables.
  static void add_variables(Arguments& words, const Run& run, const Node& node,
                            Environment& environment) {
    if (node.nvidia) {
      words.add("--env",
                run.request.gpu ? "NVIDIA_VISIBLE_DEVICES=all" : "NVIDIA_VISIBLE_DEVICES=void");
    }
    if (!node.rdma_devices.empty()) words.add("--env", "MELLANOX_VISIBLE_DEVICES=all");
    for (const auto& [name, value] : run.variables) {
      words.add("--env", variable_word(name, value, environment));
    }
  }
};

}  // namespace

const Runtime& enroot() {
  static const Enroot runtime;
  return runtime;
}

}  // namespace toprun::container
