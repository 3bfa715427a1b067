#include "machine/container/runtimes.h"

#include <array>

#include "machine/container/runtime.h"

namespace toprun::container {

std::optional<SourcedPath> Runtime::product(const Run&, const Environment&) const {
  return std::nullopt;
}

std::vector<Command> Runtime::creation(const Run&, const Node&, const Environment&) const {
  return {};
}

std::optional<Command> Runtime::removal(const Run&, const Environment&) const {
  return std::nullopt;
}

std::vector<std::string> Runtime::notes(const Run& run) const {
  std::vector<std::string> lines;
  for (const auto& [annotation, value] : run.request.annotations) {
    lines.push_back(fmt::format("annotation {}: has no effect with {}", annotation, name()));
  }
  return lines;
}

Result<Command> Runtime::build(std::string_view, const std::string& file,
                               const Environment&) const {
  return usage("image file " + file, fmt::format("{} cannot build image files", name()),
               "give the name of a .sif file (Apptainer) or a .sqsh file (enroot)");
}

std::vector<std::string> Runtime::step_options(const Run&) const {
  return {};
}

std::span<const Runtime* const> runtimes() {
  static const std::array all{&pyxis(),       &enroot(), &apptainer(),
                              &singularity(), &podman(), &docker()};
  return all;
}

}  // namespace toprun::container
