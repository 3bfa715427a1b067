#include "machine/container/places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/os/trust.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;

// toprun makes the folders below it: the folder that a variable names may belong to all users. One
// that is there for images alone is looked at itself.
fs::path base_of(const SourcedPath& sourced, const Environment& environment) {
  if (sourced.source == "default") return "/var/tmp";
  const fs::path given = environment.get(sourced.source).value_or("");
  const fs::path folder = fs::path(sourced.path).parent_path();
  return given.empty() || given == folder ? folder.parent_path() : given;
}

Environment with_folders(Environment environment, const std::string& cache, std::string_view name,
                         const std::string& temporary) {
  const auto caches = caches_path(environment);
  if (caches && !environment.non_empty(cache)) environment.set(cache, (*caches / name).path);
  const auto here = environment.non_empty("TMPDIR");
  if (here && !environment.non_empty(temporary)) environment.set(temporary, *here);
  return environment;
}

}  // namespace

SourcedPath containers_path(const Environment& environment) {
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

std::optional<SourcedPath> caches_path(const Environment& environment) {
  const auto scratch = environment.non_empty("SCRATCH");
  if (!scratch) return std::nullopt;
  return SourcedPath{*scratch + "/toprun/cache", "SCRATCH"};
}

Result<void> check_path(const SourcedPath& sourced, const Environment& environment) {
  auto checked = check_ours(base_of(sourced, environment), sourced.path, ::geteuid());
  if (checked) return {};
  const bool is_enroots = sourced.source.starts_with("ENROOT_");
  const std::string variable = is_enroots ? sourced.source : "TOPRUN_CONTAINERS";
  return fail(checked.error()->what, checked.error()->why,
              fmt::format("set {} to a folder that belongs to you", variable));
}

Environment with_build_folders(Environment environment, std::string_view prefix) {
  return with_folders(std::move(environment), fmt::format("{}_CACHEDIR", prefix), "apptainer",
                      fmt::format("{}_TMPDIR", prefix));
}

Environment with_enroot_folders(Environment environment) {
  return with_folders(std::move(environment), "ENROOT_CACHE_PATH", "enroot", "ENROOT_TEMP_PATH");
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
