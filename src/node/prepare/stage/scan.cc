#include "node/prepare/stage/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/text/clock.h"

namespace toprun::stage {
namespace {

// A file that was changed so shortly before the scan could change again within the same tick of
// the file system's clock. A server's clock may also be behind.
constexpr std::chrono::seconds fresh{3};
struct Found {
  std::string name;
  struct stat status;
  std::string target;
  std::size_t folder = 0;  // its index in the list of folders, if it is one
};

struct Folder {
  std::string path;
  std::size_t depth = 0;
  std::vector<Found> found;
};

struct Directory {
  explicit Directory(Fd fd) : stream(::fdopendir(fd.get())) {
    if (stream != nullptr) fd.release();
  }
  ~Directory() {
    if (stream != nullptr) ::closedir(stream);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  DIR* stream;
};

std::optional<std::string> target_of(int folder, const char* name) {
  std::string target(most_target_bytes + 1, '\0');
  const ssize_t size = ::readlinkat(folder, name, target.data(), target.size());
  if (size <= 0 || static_cast<std::size_t>(size) > most_target_bytes) return std::nullopt;
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Result<void> list(const OpenTree& tree, Folder& folder) {
  Fd fd = tree.open(folder.path, O_RDONLY | O_DIRECTORY);
  if (!fd) return fail_errno("cannot read " + tree.text(folder.path));
  const int number = fd.get();
  const Directory directory(std::move(fd));
  if (directory.stream == nullptr) return fail_errno("cannot read " + tree.text(folder.path));
  errno = 0;
  while (const dirent* const item = ::readdir(directory.stream)) {
    const std::string name = item->d_name;
    if (name == "." || name == "..") continue;
    Found found{name, {}, {}};
    if (::fstatat(number, item->d_name, &found.status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == ENOENT) continue;  // it has gone meanwhile
      return fail_errno("cannot read " + tree.text(folder.path) + "/" + name);
    }
    if (S_ISLNK(found.status.st_mode)) {
      auto target = target_of(number, item->d_name);
      if (!target) return fail_errno("cannot read " + tree.text(folder.path) + "/" + name);
      found.target = *std::move(target);
    }
    const bool is_staged = S_ISLNK(found.status.st_mode) || S_ISREG(found.status.st_mode) ||
                           S_ISDIR(found.status.st_mode);
    if (is_staged) folder.found.push_back(std::move(found));
    errno = 0;
  }
  if (errno != 0) return fail_errno("cannot read " + tree.text(folder.path));
  std::ranges::sort(folder.found, {}, &Found::name);
  return {};
}

// The first error of several threads.
class FirstError {
 public:
  void keep(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  bool is_there() {
    const std::lock_guard lock(mutex_);
    return error_.has_value();
  }
  // Once no thread is left.
  const std::optional<Error>& error() const { return error_; }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
};

// All folders, those of one depth at once.
Result<std::vector<Folder>> list_all(const OpenTree& tree) {
  std::vector<Folder> folders(1);
  std::size_t entries = 1;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = folders.size();
    FirstError failed;
    in_parallel(end - begin, [&](std::size_t i) {
      if (auto listed = list(tree, folders[begin + i]); !listed) failed.keep(listed.error());
    });
    if (failed.error()) return std::unexpected(*failed.error());
    for (; begin < end; ++begin) {
      entries += folders[begin].found.size();
      for (std::size_t i = 0; i < folders[begin].found.size(); ++i) {
        Found& found = folders[begin].found[i];
        if (!S_ISDIR(found.status.st_mode)) continue;
        found.folder = folders.size();
        const std::string& above = folders[begin].path;
        const std::string path = above.empty() ? found.name : above + "/" + found.name;
        folders.push_back({path, folders[begin].depth + 1, {}});
      }
    }
    if (entries > most_entries || folders.back().depth > deepest) {
      return fail(
          tree.text(""),
          fmt::format("it has more than {} files, or folders nested more than {} levels deep",
                      most_entries, deepest));
    }
  }
  return folders;
}

std::uint16_t mode_of(const struct stat& status) {
  return static_cast<std::uint16_t>(status.st_mode & permissions);
}

// Appends what is in a folder, and below it.
void flatten(const std::vector<Folder>& folders, std::size_t folder, std::uint32_t parent,
             Stamped& out) {
  for (const Found& found : folders[folder].found) {
    Entry entry;
    entry.mode = mode_of(found.status);
    entry.parent = parent;
    entry.name = found.name;
    Stamp stamp;
    if (S_ISDIR(found.status.st_mode)) {
      entry.kind = Entry::Kind::folder;
    } else if (S_ISLNK(found.status.st_mode)) {
      entry.kind = Entry::Kind::link;
      entry.target = found.target;
    } else {
      entry.kind = Entry::Kind::file;
      entry.size = static_cast<std::uint64_t>(found.status.st_size);
      entry.mtime_ns = mtime_of(found.status);
      stamp = stamp_of(found.status);
    }
    const auto index = static_cast<std::uint32_t>(out.manifest.entries.size());
    const bool is_folder = entry.kind == Entry::Kind::folder;
    out.manifest.entries.push_back(std::move(entry));
    out.stamps.push_back(stamp);
    if (is_folder) flatten(folders, found.folder, index, out);
  }
}

Result<void> number_chunks(Manifest& manifest, const std::string& path) {
  std::size_t chunks = 0;
  for (Entry& entry : manifest.entries) {
    entry.first_chunk = static_cast<std::uint32_t>(chunks);
    chunks += entry.size / chunk_bytes + 1;
    if (chunks > most_chunks) return fail(path, "it is too large to be staged");
    chunks = entry.first_chunk + entry.chunks();
  }
  manifest.hashes.resize(chunks);
  return {};
}

Result<Stamped> walk(const OpenTree& tree) {
  struct stat status {};
  if (::fstatat(tree.folder(), tree.below("").c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
    return fail_errno("cannot read " + tree.text(""));
  }
  Stamped out;
  Entry first;
  first.mode = mode_of(status);
  if (S_ISREG(status.st_mode)) {
    first.kind = Entry::Kind::file;
    first.size = static_cast<std::uint64_t>(status.st_size);
    first.mtime_ns = mtime_of(status);
    out.manifest.entries.push_back(std::move(first));
    out.stamps.push_back(stamp_of(status));
    return out;
  }
  if (!S_ISDIR(status.st_mode)) return fail(tree.text(""), "it is neither a folder nor a file");
  const auto folders = TRY(list_all(tree));
  out.manifest.entries.push_back(std::move(first));
  out.stamps.emplace_back();
  flatten(folders, 0, 0, out);
  return out;
}

// Takes over the hashes of files that are as they were; returns the entries of the others.
std::vector<std::size_t> take_known(Stamped& scanned, const Stamped* known) {
  std::unordered_map<std::string, std::size_t> by_path;
  if (known != nullptr) {
    for (std::size_t i = 0; i < known->manifest.entries.size(); ++i) {
      if (known->manifest.entries[i].kind == Entry::Kind::file &&
          known->stamps[i].changed_ns != 0) {
        by_path.emplace(known->manifest.path_of(i), i);
      }
    }
  }
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < scanned.manifest.entries.size(); ++i) {
    const Entry& entry = scanned.manifest.entries[i];
    if (entry.kind != Entry::Kind::file) continue;
    const auto found = by_path.find(scanned.manifest.path_of(i));
    if (found != by_path.end()) {
      const Entry& before = known->manifest.entries[found->second];
      if (before.size == entry.size && before.mtime_ns == entry.mtime_ns &&
          known->stamps[found->second] == scanned.stamps[i]) {
        std::copy_n(known->manifest.hashes.begin() + before.first_chunk, entry.chunks(),
                    scanned.manifest.hashes.begin() + entry.first_chunk);
        continue;
      }
    }
    unknown.push_back(i);
  }
  return unknown;
}

// A part of a file, for one thread.
struct Task {
  std::size_t entry;
  std::uint32_t chunk, end;
};
constexpr std::uint32_t most_chunks_of_a_task = 64;

std::vector<Task> tasks_of(const Manifest& manifest, const std::vector<std::size_t>& files) {
  std::vector<Task> tasks;
  for (const std::size_t file : files) {
    const Entry& entry = manifest.entries[file];
    const std::uint32_t end = entry.first_chunk + entry.chunks();
    for (std::uint32_t chunk = entry.first_chunk; chunk < end; chunk += most_chunks_of_a_task) {
      tasks.push_back({file, chunk, std::min(end, chunk + most_chunks_of_a_task)});
    }
  }
  return tasks;
}

Result<void> hash_part(const OpenTree& tree, Manifest& manifest, const Task& task) {
  const Entry& entry = manifest.entries[task.entry];
  const std::string path = manifest.path_of(task.entry);
  const Fd file = tree.open(path, O_RDONLY);
  if (!file) return fail_errno("cannot read " + tree.text(path));
  thread_local std::string buffer(chunk_bytes, '\0');
  for (std::uint32_t chunk = task.chunk; chunk < task.end; ++chunk) {
    const std::size_t size = manifest.chunk_size(entry, chunk);
    const auto offset = static_cast<off_t>(std::uint64_t{chunk - entry.first_chunk} * chunk_bytes);
    if (size == chunk_bytes && is_hole(file, offset, size)) {
      manifest.hashes[chunk] = hash_of_zeros();
      continue;
    }
    std::size_t got = 0;
    while (got < size) {
      const ssize_t n =
          ::pread(file.get(), buffer.data() + got, size - got, offset + static_cast<off_t>(got));
      if (n < 0 && errno != EINTR) return fail_errno("cannot read " + tree.text(path));
      if (n == 0) return fail(tree.text(path), "it changes while it is read");
      if (n > 0) got += static_cast<std::size_t>(n);
    }
    manifest.hashes[chunk] = hash_of({buffer.data(), size});
  }
  if (!is_as_scanned(file.get(), entry)) {
    return fail(tree.text(path), "it changes while it is read");
  }
  return {};
}

void distrust_fresh(std::vector<Stamp>& stamps, WallTime began) {
  const auto limit =
      std::chrono::duration_cast<std::chrono::nanoseconds>((began - fresh).time_since_epoch());
  for (Stamp& stamp : stamps) {
    if (stamp.changed_ns >= limit.count()) stamp.changed_ns = 0;
  }
}

Result<OpenTree> tree_of(const std::string& path) {
  const std::filesystem::path whole(path);
  Fd above(::open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above) return fail_errno("cannot read " + whole.parent_path().string());
  if (!whole.has_filename()) return fail(path, "it has no name");
  return OpenTree(std::move(above), whole.filename().string(), path);
}

}  // namespace

bool is_as_scanned(int fd, const Entry& entry) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<std::uint64_t>(status.st_size) == entry.size &&
         mtime_of(status) == entry.mtime_ns;
}

Result<Source> scan(const std::string& path, const Stamped* known) {
  const WallTime began = std::chrono::system_clock::now();
  auto tree = TRY(tree_of(path));
  auto scanned = TRY(walk(tree));
  Source source{std::move(scanned), std::move(tree)};
  Manifest& manifest = source.stamped.manifest;
  TRY(number_chunks(manifest, path));
  const std::vector<std::size_t> unknown = take_known(source.stamped, known);
  for (const std::size_t file : unknown) source.hashed_bytes += manifest.entries[file].size;
  const std::vector<Task> tasks = tasks_of(manifest, unknown);
  FirstError failed;
  in_parallel(tasks.size(), [&](std::size_t i) {
    if (failed.is_there()) return;
    if (auto hashed = hash_part(source.tree, manifest, tasks[i]); !hashed) {
      failed.keep(hashed.error());
    }
  });
  if (failed.error()) return std::unexpected(*failed.error());
  distrust_fresh(source.stamped.stamps, began);
  return source;
}

}  // namespace toprun::stage
