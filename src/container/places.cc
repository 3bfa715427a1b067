#include "container/places.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun::container {

Place containers_place(const Environment& environment) {
  if (const auto set = environment.non_empty("TOPRUN_CONTAINERS")) {
    return {*set, "TOPRUN_CONTAINERS"};
  }
  if (const auto scratch = environment.non_empty("SCRATCH")) {
    return {*scratch + "/toprun/containers", "SCRATCH"};
  }
  if (const auto data = environment.non_empty("XDG_DATA_HOME")) {
    return {*data + "/toprun/containers", "XDG_DATA_HOME"};
  }
  if (const auto home = environment.non_empty("HOME")) {
    return {*home + "/.local/share/toprun/containers", "HOME"};
  }
  return {"/var/tmp/toprun/containers", "default"};
}

namespace {

Environment with_folders(Environment environment, const std::string& cache,
                         std::string_view below_scratch, const std::string& temporary) {
  const auto scratch = environment.non_empty("SCRATCH");
  if (scratch && !environment.non_empty(cache)) {
    environment.set(cache, fmt::format("{}/{}", *scratch, below_scratch));
  }
  const auto here = environment.non_empty("TMPDIR");
  if (here && !environment.non_empty(temporary)) environment.set(temporary, *here);
  return environment;
}

}  // namespace

Environment with_build_folders(Environment environment, std::string_view prefix) {
  return with_folders(std::move(environment), fmt::format("{}_CACHEDIR", prefix),
                      ".cache/apptainer", fmt::format("{}_TMPDIR", prefix));
}

Environment with_enroot_folders(Environment environment) {
  return with_folders(std::move(environment), "ENROOT_CACHE_PATH", ".cache/enroot",
                      "ENROOT_TEMP_PATH");
}

std::string file_name(const Image& image) {
  std::string name = registry_reference(image);
  if (!image.transport.empty() && image.transport != "docker") {
    name = fmt::format("{}+{}", image.transport, name);
  }
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == ':' || c == '@'; }, '+');
  return name;
}

}  // namespace toprun::container
