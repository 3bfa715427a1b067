#include "node/prepare/prefetch/kept.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/os/files.h"
#include "base/os/trust.h"

namespace toprun::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr const char* ending = ".files";

// A missing one is fine.
Result<void> check_own_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("cannot look at " + folder.string());
  }
  if (!S_ISDIR(status.st_mode)) return fail(folder.string(), "it is not a folder");
  const std::string why = distrust(status, ::geteuid());
  if (!why.empty()) return fail(folder.string(), why);
  return {};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path().parent_path(), error);
  for (const fs::path& part : {folder.parent_path(), folder}) {
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno("cannot make " + part.string());
    }
    if (auto ours = check_own_folder(part); !ours) return ours;
  }
  return {};
}

// Behind a wrapper that starts another Python the key tells nothing of its packages.
bool is_current(const Record& record) {
  return std::ranges::all_of(record.packages, [](const Packages& folder) {
    struct stat status {};
    const bool is_there = ::stat(folder.path.c_str(), &status) == 0;
    return is_there &&
           status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec == folder.changed_ns;
  });
}

void remove_the_oldest(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> records;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code untold;
    if (at->path().extension() != ending) continue;
    records.emplace_back(at->last_write_time(untold), at->path());
  }
  std::ranges::sort(records);
  for (std::size_t i = 0; i + most_kept < records.size(); ++i) fs::remove(records[i].second, error);
}

}  // namespace

std::optional<fs::path> folder_of(const Environment& environment) {
  if (const auto cache = environment.non_empty("XDG_CACHE_HOME")) {
    return fs::path(*cache) / "toprun/prefetch";
  }
  const auto home = environment.non_empty("HOME");
  if (!home) return std::nullopt;
  return fs::path(*home) / ".cache/toprun/prefetch";
}

Result<std::optional<Record>> find_kept(const fs::path& folder, const std::string& key) {
  for (const fs::path& part : {folder.parent_path(), folder}) {
    TRY(check_own_folder(part));
  }
  const fs::path path = folder / (key + ending);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  if (const std::string why = distrust(status, ::geteuid()); !why.empty()) {
    return fail(path.string(), why);
  }
  const auto text = read_plain_file(path, most_record_bytes);
  if (!text) return std::nullopt;
  auto record = parse_record(*text);
  if (!record || !is_current(*record)) return std::nullopt;
  return *std::move(record);
}

Result<void> keep(const fs::path& folder, const std::string& key, std::string_view text) {
  if (auto made = make_folder(folder); !made) return made;
  if (auto kept = replace_file(folder / (key + ending), text); !kept) return kept;
  remove_the_oldest(folder);
  return {};
}

}  // namespace toprun::prefetch
