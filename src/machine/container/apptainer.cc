#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/places.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

// The image's name for a program that accepts only references with a transport.
std::string source_word(const Image& image) {
  if (image.kind == ImageKind::archive) {
    return fmt::format("{}:{}", image.transport.empty() ? "docker-archive" : image.transport,
                       image.path);
  }
  if (image.is_path()) return image.path;
  if (image.transport == "docker-daemon") return "docker-daemon:" + image.path;
  return fmt::format("{}://{}", image.transport.empty() ? "docker" : image.transport,
                     registry_reference(image));
}

class Apptainer final : public Runtime {
 public:
  Apptainer(std::string_view name, std::string_view prefix, Tried tried)
      : name_(name), prefix_(prefix), tried_(tried) {}

  std::string_view name() const override { return name_; }
  std::string_view program() const override { return name_; }
  Tried tried() const override { return tried_; }

  Result<void> accepts(std::string_view text) const override {
    const auto image = TRY(parse_image(text));
    const std::string_view transport = image.transport;
    if (image.is_path() || transport.empty() || transport == "docker" || transport == "oras" ||
        transport == "library" || transport == "shub" || transport == "docker-daemon") {
      return {};
    }
    return usage(fmt::format("container image {}", text),
                 fmt::format("{} does not know the transport {}", name_, transport),
                 transport == "dockerd" || transport == "podman"
                     ? "use --container-runtime enroot"
                     : "use --container-runtime podman");
  }

  // A kept container is a folder (a sandbox); an image of a registry becomes one file, pulled once
  // for all nodes that share its folder. Other images are run as they are.
  std::optional<SourcedPath> product(const Run& run,
                                     const Environment& environment) const override {
    const auto image = parse_image(run.request.image);
    if (!image) return std::nullopt;
    const SourcedPath folder = containers_path(environment);
    if (!run.request.name.empty()) return folder / run.request.name;
    if (image->is_path()) return std::nullopt;
    return folder / (file_name(*image) + ".sif");
  }

  std::vector<Command> creation(const Run& run, const Node&,
                                const Environment& environment) const override {
    const auto made = product(run, environment);
    const auto image = parse_image(run.request.image);
    if (!made || !image) return {};
    const std::string part = made->path + ".part";
    const std::string program(name_);
    const std::string source = source_word(*image);
    const Environment with = with_build_folders(environment, prefix_);
    std::vector<Command> commands;
    commands.push_back({{"rm", "-rf", part}, with});
    if (run.request.name.empty()) {
      commands.push_back({{program, "pull", "--force", part, source}, with});
    } else {
      commands.push_back({{program, "build", "--force", "--sandbox", part, source}, with});
    }
    commands.push_back({{"mv", "-T", part, made->path}, with});
    return commands;
  }

  Result<Command> build(std::string_view source, const std::string& file,
                        const Environment& environment) const override {
    TRY(accepts(source));
    const auto image = TRY(parse_image(source));
    return Command{{std::string(name_), "build", "--force", file, source_word(image)},
                   with_build_folders(environment, prefix_)};
  }

  Result<Command> command(const Run& run, const Node& node,
                          const Environment& environment) const override {
    const auto image = TRY(parse_image(run.request.image));
    const auto made = product(run, environment);
    const bool is_folder = !run.request.name.empty() || image.kind == ImageKind::folder;
    Arguments words({std::string(name_), "--quiet", "exec", "--cleanenv"});
    if (run.request.gpu && node.nvidia) words.add("--nv");
    if (run.request.gpu && node.amd) words.add("--rocm");
    if (run.request.root && node.uid != 0) words.add("--fakeroot");
    if (run.request.writable) words.add(is_folder ? "--writable" : "--writable-tmpfs");
    add_binds(words, run, "--bind");
    words.add("--pwd", run.workdir);
    words.add(made ? made->path : source_word(image));
    words.add_all(run.program);
    Environment with = with_build_folders(environment, prefix_);
    for (const auto& [name, value] : run.variables) {
      with.set(fmt::format("{}ENV_{}", prefix_, name), value);
    }
    return Command{words.take(), std::move(with)};
  }

 private:
  std::string_view name_;
  std::string_view prefix_;
  Tried tried_;
};

}  // namespace

const Runtime& apptainer() {
  static const Apptainer runtime("apptainer", "APPTAINER", Tried::run);
  return runtime;
}

const Runtime& singularity() {
  static const Apptainer runtime("singularity", "SINGULARITY", Tried::parsed);
  return runtime;
}

}  // namespace toprun::container
