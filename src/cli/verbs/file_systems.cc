#include "cli/verbs/file_systems.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "base/process/command.h"
#include "base/process/disk_space.h"
#include "base/text/text.h"

namespace toprun::cli {
namespace {

constexpr std::chrono::milliseconds space_limit{2'000};
constexpr std::chrono::milliseconds quota_limit{2'000};
constexpr std::uint64_t max_kibibytes = std::uint64_t{1} << 53;
constexpr const char* lustre_type = "lustre";

// Variables in which sites name their file systems, best first.
constexpr std::array variables = {"HOME",    "PROJECT", "PROJECT_DIR",  "PROJECTDIR",
                                  "WORK",    "WORKDIR", "STORE",        "DATA",
                                  "SCRATCH", "FAST",    "SLURM_TMPDIR", "TMPDIR"};

std::optional<std::uint64_t> kibibytes(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);  // over the limit
  const auto number = parse_int(text);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > max_kibibytes) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*number) * 1'024;
}

// used, soft limit, hard limit; a limit of 0 is none.
std::optional<Quota> quota_of(std::string_view used, std::string_view soft, std::string_view hard) {
  const auto used_bytes = kibibytes(used);
  const std::uint64_t soft_bytes = kibibytes(soft).value_or(0);
  const std::uint64_t limit = soft_bytes > 0 ? soft_bytes : kibibytes(hard).value_or(0);
  if (!used_bytes || limit == 0) return std::nullopt;
  return Quota{*used_bytes, limit};
}

void add_space(std::vector<FileSystem>& places) {
  std::vector<std::string> paths;
  for (const FileSystem& place : places) paths.push_back(place.path);
  auto answers = process::disk_space(paths, space_limit);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].space = std::move(answers[i].space);
    places[i].trouble = std::move(answers[i].trouble);
  }
}

std::string real_path(const FileSystem& place) {
  return place.space ? place.space->real_path : place.path;
}

// The quota program asks every file system at once, so it is asked once.
void add_quotas(std::vector<FileSystem>& places, const std::vector<Mount>& mounts,
                const Environment& environment) {
  std::string reported;
  if (process::find_program("quota", environment)) {
    const auto finished = process::run({"quota", "-w", "-p"}, environment, quota_limit);
    if (finished) reported = finished->out;  // its code tells whether a limit is passed
  }
  const bool has_lfs = process::find_program("lfs", environment).has_value();
  for (FileSystem& place : places) {
    const Mount* const mount = mount_of(mounts, real_path(place));
    if (mount == nullptr || !place.space) continue;
    place.quota = parse_quota(reported, mount->source);
    if (place.quota || !has_lfs || mount->type != lustre_type) continue;
    const auto lustre =
        process::run({"lfs", "quota", "-q", "-u", fmt::to_string(::getuid()), real_path(place)},
                     environment, quota_limit);
    if (lustre && lustre->code == 0) place.quota = parse_lustre_quota(lustre->out);
  }
}

}  // namespace

std::vector<FileSystem> places(const Environment& environment, const std::string& here) {
  std::vector<FileSystem> found;
  const auto add = [&](const std::string& use, const std::string& path) {
    const auto known = std::ranges::find(found, path, &FileSystem::path);
    if (known == found.end()) {
      found.push_back({use, path, {}, {}, {}, {}, {}});
    } else {
      known->use += ", " + use;
    }
  };
  for (const char* variable : variables) {
    const auto path = environment.non_empty(variable);
    if (path && path->starts_with('/')) add(fmt::format("${}", variable), *path);
  }
  if (!environment.non_empty("TMPDIR")) add("temporary", "/tmp");
  if (!here.empty()) add("here", here);
  return found;
}

std::vector<FileSystem> file_systems(const Environment& environment) {
  // Of a folder on a file system that hangs the shell's word has to do.
  std::string here = environment.get("PWD").value_or("");
  if (!here.starts_with('/')) here = ".";
  std::vector<FileSystem> found = places(environment, here);
  add_space(found);
  const auto text = read_file("/proc/self/mountinfo");
  const auto mounts = text ? parse_mounts(*text) : std::vector<Mount>();
  for (FileSystem& place : found) {
    if (const Mount* const mount = mount_of(mounts, real_path(place))) {
      place.type = mount->type;
      place.shared = is_shared(mount->type);
    }
  }
  add_quotas(found, mounts, environment);
  return found;
}

std::optional<Quota> parse_quota(std::string_view text, std::string_view device) {
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = words(line);
    if (fields.size() >= 4 && fields[0] == device) return quota_of(fields[1], fields[2], fields[3]);
  }
  return std::nullopt;
}

std::optional<Quota> parse_lustre_quota(std::string_view text) {
  const auto fields = words(text);
  return fields.size() < 4 ? std::nullopt : quota_of(fields[1], fields[2], fields[3]);
}

}  // namespace toprun::cli
