#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

// "[USER@][REGISTRY#]IMAGE[:TAG]" or a path.
std::string pyxis_image(const Image& image) {
  if (image.is_path()) return image.path;
  std::string text;
  if (!image.user.empty()) text += image.user + "@";
  if (!image.registry.empty()) text += image.registry + "#";
  text += image.name;
  if (!image.tag.empty()) text += ":" + image.tag;
  if (!image.digest.empty()) text += "@" + image.digest;
  return text;
}

class Pyxis final : public Runtime {
 public:
  std::string_view name() const override { return "pyxis"; }
  std::string_view program() const override { return {}; }
  Tried tried() const override { return Tried::parsed; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = TRY(parse_image(text));
    const bool is_remote = image.kind == ImageKind::reference &&
                           (image.transport.empty() || image.transport == "docker");
    if (is_remote || image.kind == ImageKind::squashfs) return {};
    return usage(fmt::format("container image {}", text),
                 "pyxis accepts only an image in a registry or a .sqsh file",
                 image.kind == ImageKind::sif ? "use --container-runtime apptainer"
                                              : "use --container-runtime podman");
  }

  Result<Command> command(const Run&, const Node& node, const Environment&) const override {
    return fail(fmt::format("{}: pyxis cannot start a container without srun", node.host),
                "with pyxis, srun starts the agents inside the container",
                "choose another runtime with --container-runtime");
  }

  std::vector<std::string> step_options(const Run& run) const override {
    const auto image = parse_image(run.request.image);
    if (!image) return {};
    std::vector<std::string> words{"--container-image=" + pyxis_image(*image)};
    std::vector<std::string> mounts;
    for (const Bind& bind : in_order(run.binds)) {
      mounts.push_back(
          fmt::format("{}:{}{}", bind.source, bind.target, bind.read_only ? ":ro" : ""));
    }
    if (!mounts.empty()) words.push_back("--container-mounts=" + join(mounts, ","));
    words.push_back("--container-workdir=" + run.workdir);
    if (!run.request.name.empty()) words.push_back("--container-name=" + run.request.name);
    words.emplace_back("--no-container-entrypoint");
    words.emplace_back(run.request.root ? "--container-remap-root" : "--no-container-remap-root");
    if (run.request.writable) words.emplace_back("--container-writable");
    std::vector<std::string> names;
    for (const std::string& name : run.request.host_wins) {
      if (!name.ends_with('*')) names.push_back(name);
    }
    for (const auto& [name, value] : run.variables) names.push_back(name);
    if (!names.empty()) words.push_back("--container-env=" + join(names, ","));
    return words;
  }
};

}  // namespace

const Runtime& pyxis() {
  static const Pyxis runtime;
  return runtime;
}

}  // namespace toprun::container
