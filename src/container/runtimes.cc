#include <array>

#include "container/podman.h"
#include "container/runtime.h"

namespace toprun::container {

std::vector<Command> Runtime::creation(const Run&, const Node&, const Environment&) const {
  return {};
}

std::vector<std::string> Runtime::step_options(const Run&) const {
  return {};
}

std::optional<Error> Runtime::explain(std::string_view, const Run&, const Node&) const {
  return std::nullopt;
}

std::span<const Runtime* const> runtimes() {
  static const std::array all{&podman()};
  return all;
}

}  // namespace toprun::container
