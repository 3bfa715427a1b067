#include "node/prepare/stage/copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/os/files.h"
#include "base/text/text.h"
#include "node/prepare/stage/scan.h"

namespace toprun::stage {
namespace {

constexpr std::size_t digest_bytes = 16;
constexpr std::string_view unfinished = ".part";
constexpr const char* stamps_name = "stamps";
constexpr const char* tree_name = "tree";
constexpr mode_t owner_reads = 0400;
constexpr mode_t owner_all = 0700;

timespec time_of(std::int64_t nanoseconds) {
  timespec time{nanoseconds / ns_per_second, nanoseconds % ns_per_second};
  if (time.tv_nsec < 0) {
    time.tv_sec -= 1;
    time.tv_nsec += ns_per_second;
  }
  return time;
}

mode_t file_mode(const Entry& entry) {
  return entry.mode | owner_reads;
}

mode_t folder_mode(const Entry& entry) {
  return entry.mode | owner_all;
}

// A OpenTree has a folder of its own.
Result<OpenTree> tree_in(const Fd& folder, const std::string& path) {
  Fd own(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  if (!own) return fail_errno("cannot open " + path);
  return OpenTree(std::move(own), tree_name, path + "/" + tree_name);
}

off_t offset_of(const Entry& entry, std::uint32_t chunk) {
  return static_cast<off_t>(std::uint64_t{chunk - entry.first_chunk} * chunk_bytes);
}

// Reads a chunk of an open file; false if it is not the one of the manifest.
bool read_chunk(int file, const Manifest& manifest, const Entry& entry, std::uint32_t chunk,
                std::string& buffer) {
  const std::size_t size = manifest.chunk_size(entry, chunk);
  const off_t offset = offset_of(entry, chunk);
  buffer.resize(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n =
        ::pread(file, buffer.data() + got, size - got, offset + static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return hash_of(buffer) == manifest.hashes[chunk];
}

std::optional<Stamped> stamps_in(const Fd& folder, const std::string& path) {
  const Fd file(::openat(folder.get(), stamps_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return std::nullopt;
  const auto bytes = read_open_file(file, path, 2 * most_manifest_bytes);
  if (!bytes) return std::nullopt;
  auto stamped = Stamped::decode(*bytes);
  if (!stamped) return std::nullopt;
  return *std::move(stamped);
}

bool has_content(const OpenTree& tree, const Manifest& manifest, std::size_t i) {
  const Entry& entry = manifest.entries[i];
  const Fd file = tree.open(manifest.path_of(i), O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != entry.size) {
    return false;
  }
  std::string buffer;
  for (std::uint32_t k = 0; k < entry.chunks(); ++k) {
    if (!read_chunk(file.get(), manifest, entry, entry.first_chunk + k, buffer)) return false;
  }
  return true;
}

// Whether what was made for an entry is still there. A file that was touched is read again.
bool is_intact(const OpenTree& tree, const Stamped& stamped, std::size_t i) {
  const Manifest& manifest = stamped.manifest;
  const Entry& entry = manifest.entries[i];
  const std::string path = manifest.path_of(i);
  struct stat status {};
  if (::fstatat(tree.folder(), tree.below(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
    return false;
  }
  switch (entry.kind) {
    case Entry::Kind::folder:
      return S_ISDIR(status.st_mode);
    case Entry::Kind::link: {
      std::string target(most_target_bytes + 1, '\0');
      const ssize_t size =
          ::readlinkat(tree.folder(), tree.below(path).c_str(), target.data(), target.size());
      return size >= 0 && target.substr(0, static_cast<std::size_t>(size)) == entry.target;
    }
    case Entry::Kind::file:
      break;
  }
  if (!S_ISREG(status.st_mode) || mtime_of(status) != entry.mtime_ns) return false;
  const bool is_untouched = stamp_of(status) == stamped.stamps[i] &&
                            static_cast<std::uint64_t>(status.st_size) == entry.size;
  return is_untouched || has_content(tree, manifest, i);
}

}  // namespace

Copy::Copy(const CopyCache& cache, std::string key, std::shared_ptr<const Manifest> manifest,
           const Hash& digest)
    : cache_(cache),
      key_(std::move(key)),
      name_(key_ + "-" + hex(std::span(digest).first(digest_bytes))),
      manifest_(std::move(manifest)),
      is_there_(manifest_->hashes.size()) {
  for (std::uint32_t chunk = 0; chunk < is_there_.size(); ++chunk) {
    is_there_[chunk] = is_zeros(chunk);
  }
}

bool Copy::is_zeros(std::uint32_t chunk) const {
  return manifest_->hashes[chunk] == hash_of_zeros();
}

Result<Copy> Copy::begin(const CopyCache& cache, const std::string& key,
                         std::shared_ptr<const Manifest> manifest, const Hash& digest) {
  Copy copy(cache, key, std::move(manifest), digest);
  if (copy.use_whole()) return copy;
  if (auto begun = copy.begin_part(); !begun) {
    copy.discard();
    return std::unexpected(std::move(begun.error()));
  }
  return copy;
}

bool Copy::use_whole() {
  Fd folder = cache_.open_own(name_);
  if (!folder || ::flock(folder.get(), LOCK_SH | LOCK_NB) < 0) return false;
  const std::string path = cache_.path() + "/" + name_;
  auto tree = tree_in(folder, path);
  const auto stamped = stamps_in(folder, path);
  if (!tree || !stamped || !(stamped->manifest == *manifest_)) return false;
  std::atomic<bool> is_good = true;
  in_parallel(manifest_->entries.size(), [&](std::size_t i) {
    if (is_good && !is_intact(*tree, *stamped, i)) is_good = false;
  });
  if (!is_good) return false;
  folder_ = std::move(folder);
  tree_ = *std::move(tree);
  is_there_.assign(is_there_.size(), true);
  whole_ = true;
  return true;
}

// A copy of this version that is not what it was is no longer whole; what is still right in it is
// used.
Result<void> Copy::begin_part() {
  const std::string part = name_ + std::string(unfinished);
  if (cache_.open_own(name_)) {
    if (!cache_.open_own(part)) {
      ::renameat(cache_.folder(), name_.c_str(), cache_.folder(), part.c_str());
    }
    cache_.remove_unused(name_);
  }
  folder_ = TRY(cache_.make_own(part));
  tree_ = TRY(tree_in(folder_, cache_.path() + "/" + part));
  if (auto made = make_folders(); !made) return made;
  take_from_part();
  for (const std::string& version : other_versions()) take_from(version);
  return {};
}

Result<void> Copy::make_folders() {
  for (std::size_t i = 0; i < manifest_->entries.size(); ++i) {
    if (manifest_->entries[i].kind != Entry::Kind::folder) continue;
    const std::string path = manifest_->path_of(i);
    const std::string below = tree_.below(path);
    if (::mkdirat(tree_.folder(), below.c_str(), owner_all) == 0) continue;
    if (errno != EEXIST) return fail_errno("cannot make " + tree_.text(path));
    if (tree_.open(path, O_RDONLY | O_DIRECTORY)) continue;
    return fail("cannot use " + tree_.text(path), "it is not a folder",
                "remove " + cache_.path() + "/" + name_ + std::string(unfinished));
  }
  return {};
}

// What an earlier run left, chunk by chunk. Files that are shared with another version are never
// written, so they have all of their chunks or are removed.
void Copy::take_from_part() {
  std::mutex mutex;
  in_parallel(manifest_->entries.size(), [&](std::size_t i) {
    const Entry& entry = manifest_->entries[i];
    if (entry.kind != Entry::Kind::file) return;
    const std::string path = manifest_->path_of(i);
    const Fd file = tree_.open(path, O_RDONLY);
    if (!file) return;
    struct stat status {};
    const bool is_file = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    std::vector<std::uint32_t> good;
    std::string buffer;
    bool holes_are_right = true;
    for (std::uint32_t k = 0; is_file && k < entry.chunks(); ++k) {
      const std::uint32_t chunk = entry.first_chunk + k;
      const bool is_good =
          (is_zeros(chunk) && is_hole(file, offset_of(entry, chunk), chunk_bytes)) ||
          read_chunk(file.get(), *manifest_, entry, chunk, buffer);
      if (is_good) good.push_back(chunk);
      holes_are_right = holes_are_right && (is_good || !is_zeros(chunk));
    }
    const bool is_whole =
        good.size() == entry.chunks() && static_cast<std::uint64_t>(status.st_size) == entry.size;
    if (!holes_are_right || (!is_whole && (good.empty() || status.st_nlink > 1))) {
      ::unlinkat(tree_.folder(), tree_.below(path).c_str(), 0);
      return;
    }
    const std::lock_guard lock(mutex);
    for (const std::uint32_t chunk : good) is_there_[chunk] = true;
  });
}

std::vector<std::string> Copy::other_versions() const {
  std::vector<std::string> versions;
  std::error_code failed;
  for (const auto& item : std::filesystem::directory_iterator(cache_.path(), failed)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with(key_ + "-") && !name.starts_with(name_)) versions.push_back(name);
  }
  return versions;
}

bool Copy::has_file(const Entry& entry) const {
  for (std::uint32_t k = 0; k < entry.chunks(); ++k) {
    if (!is_there_[entry.first_chunk + k]) return false;
  }
  return true;
}

void Copy::take_from(const std::string& version) {
  const Fd folder = cache_.open_own(version);
  if (!folder) return;
  const std::string path = cache_.path() + "/" + version;
  const auto other = stamps_in(folder, path);
  const auto tree = tree_in(folder, path);
  if (!other || !tree) return;
  std::unordered_map<std::string, std::size_t> theirs;
  for (std::size_t i = 0; i < other->manifest.entries.size(); ++i) {
    if (other->manifest.entries[i].kind == Entry::Kind::file) {
      theirs.emplace(other->manifest.path_of(i), i);
    }
  }
  std::mutex mutex;
  in_parallel(manifest_->entries.size(), [&](std::size_t i) {
    const Entry& entry = manifest_->entries[i];
    if (entry.kind != Entry::Kind::file || entry.chunks() == 0) return;
    const auto found = theirs.find(manifest_->path_of(i));
    if (found == theirs.end()) return;
    const Entry& same = other->manifest.entries[found->second];
    const bool is_same = same.size == entry.size &&
                         std::equal(manifest_->hashes.begin() + entry.first_chunk,
                                    manifest_->hashes.begin() + entry.first_chunk + entry.chunks(),
                                    other->manifest.hashes.begin() + same.first_chunk);
    {
      const std::lock_guard lock(mutex);
      if (!is_same || has_file(entry)) return;
    }
    if (!take_file(*tree, *other, found->second, i)) return;
    const std::lock_guard lock(mutex);
    for (std::uint32_t k = 0; k < entry.chunks(); ++k) is_there_[entry.first_chunk + k] = true;
  });
}

// By a link where times and modes are the same too, else by copying.
bool Copy::take_file(const OpenTree& from, const Stamped& other, std::size_t theirs,
                     std::size_t ours) {
  if (!is_intact(from, other, theirs)) return false;
  const Entry& same = other.manifest.entries[theirs];
  const Entry& entry = manifest_->entries[ours];
  const std::string path = manifest_->path_of(ours);
  ::unlinkat(tree_.folder(), tree_.below(path).c_str(), 0);
  if (same.mtime_ns == entry.mtime_ns && file_mode(same) == file_mode(entry)) {
    return ::linkat(from.folder(), from.below(path).c_str(), tree_.folder(),
                    tree_.below(path).c_str(), 0) == 0;
  }
  const Fd in = from.open(path, O_RDONLY);
  const Fd out = tree_.open(path, O_WRONLY | O_CREAT | O_EXCL, owner_all);
  if (!in || !out) return false;
  std::string buffer;
  for (std::uint32_t k = 0; k < entry.chunks(); ++k) {
    const std::uint32_t chunk = entry.first_chunk + k;
    const off_t offset = offset_of(entry, chunk);
    if (is_zeros(chunk) && is_hole(in, offset, chunk_bytes)) continue;
    if (!read_chunk(in.get(), *manifest_, entry, chunk, buffer)) return false;
    if (is_zeros(chunk)) continue;
    const auto size = static_cast<ssize_t>(buffer.size());
    if (::pwrite(out.get(), buffer.data(), buffer.size(), offset) != size) return false;
  }
  return ::ftruncate(out.get(), static_cast<off_t>(entry.size)) == 0;
}

std::uint64_t Copy::missing_bytes() const {
  std::uint64_t bytes = 0;
  for (const Entry& entry : manifest_->entries) {
    for (std::uint32_t k = 0; k < entry.chunks(); ++k) {
      const std::uint32_t chunk = entry.first_chunk + k;
      if (!is_there_[chunk]) bytes += manifest_->chunk_size(entry, chunk);
    }
  }
  return bytes;
}

Result<void> Copy::check_room() const {
  struct statvfs system {};
  if (::fstatvfs(folder_.get(), &system) < 0) return {};
  std::uint64_t requested = 0;
  for (const Entry& entry : manifest_->entries) {
    for (std::uint32_t k = 0; k < entry.chunks(); ++k) {
      const std::uint32_t chunk = entry.first_chunk + k;
      if (is_there_[chunk]) continue;
      const std::uint64_t blocks =
          (manifest_->chunk_size(entry, chunk) + system.f_frsize - 1) / system.f_frsize;
      requested += blocks * system.f_frsize;
    }
  }
  const std::uint64_t free = system.f_bavail * system.f_frsize;
  if (requested <= free) return {};
  constexpr double mib = 1 << 20;
  return fail("no space in " + cache_.path(),
              fmt::format("the copy needs {:.0f} MiB more, but {:.0f} MiB are free",
                          static_cast<double>(requested) / mib, static_cast<double>(free) / mib),
              "choose another folder with --stage-to");
}

Result<void> Copy::write(std::uint32_t chunk, std::string_view bytes) {
  const std::size_t i = manifest_->entry_of(chunk);
  const Entry& entry = manifest_->entries[i];
  if (!file_ || file_entry_ != i) {
    const std::string path = manifest_->path_of(i);
    file_ = tree_.open(path, O_WRONLY | O_CREAT, owner_all);
    file_entry_ = i;
    if (!file_) return fail_errno("cannot make " + tree_.text(path));
  }
  off_t offset = offset_of(entry, chunk);
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot write " + tree_.text(manifest_->path_of(i)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += n;
  }
  is_there_[chunk] = true;
  return {};
}

Result<void> Copy::finish_links() {
  for (std::size_t i = 0; i < manifest_->entries.size(); ++i) {
    const Entry& entry = manifest_->entries[i];
    if (entry.kind != Entry::Kind::link) continue;
    const std::string path = manifest_->path_of(i);
    const std::string below = tree_.below(path);
    ::unlinkat(tree_.folder(), below.c_str(), 0);
    if (::symlinkat(entry.target.c_str(), tree_.folder(), below.c_str()) < 0) {
      return fail_errno("cannot make " + tree_.text(path));
    }
  }
  return {};
}

// Of holes nothing is written: a file may end with some, or consist of them, or be empty.
Result<void> Copy::make_size(const Entry& entry, const std::string& path) {
  struct stat status {};
  const bool is_there =
      ::fstatat(tree_.folder(), tree_.below(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && static_cast<std::uint64_t>(status.st_size) == entry.size) return {};
  const Fd file = tree_.open(path, O_WRONLY | O_CREAT, owner_all);
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(entry.size)) < 0) {
    return fail_errno("cannot make " + tree_.text(path));
  }
  return {};
}

// Times and modes, only where they are not right yet: a file that is shared is left alone.
Result<void> Copy::finish_files() {
  for (std::size_t i = 0; i < manifest_->entries.size(); ++i) {
    const Entry& entry = manifest_->entries[i];
    if (entry.kind != Entry::Kind::file) continue;
    const std::string path = manifest_->path_of(i);
    if (auto made = make_size(entry, path); !made) return made;
    const Fd file = tree_.open(path, O_RDONLY);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) < 0) {
      return fail_errno("cannot open " + tree_.text(path));
    }
    constexpr mode_t all_bits = 07777;
    const bool has_mode = (status.st_mode & all_bits) == file_mode(entry);
    const timespec times[] = {time_of(entry.mtime_ns), time_of(entry.mtime_ns)};
    if (!has_mode && ::fchmod(file.get(), file_mode(entry)) < 0) {
      return fail_errno("cannot set the mode of " + tree_.text(path));
    }
    if (mtime_of(status) != entry.mtime_ns && ::futimens(file.get(), times) < 0) {
      return fail_errno("cannot set the time of " + tree_.text(path));
    }
  }
  return {};
}

Result<void> Copy::finish_folders() {
  for (std::size_t i = manifest_->entries.size(); i-- > 0;) {
    const Entry& entry = manifest_->entries[i];
    if (entry.kind != Entry::Kind::folder) continue;
    const std::string path = manifest_->path_of(i);
    if (::fchmodat(tree_.folder(), tree_.below(path).c_str(), folder_mode(entry), 0) < 0) {
      return fail_errno("cannot set the mode of " + tree_.text(path));
    }
  }
  return {};
}

Result<void> Copy::finish() {
  file_.reset();
  if (auto done = finish_links(); !done) return done;
  if (auto done = finish_files(); !done) return done;
  if (auto done = finish_folders(); !done) return done;
  Stamped stamped{*manifest_, std::vector<Stamp>(manifest_->entries.size())};
  for (std::size_t i = 0; i < manifest_->entries.size(); ++i) {
    struct stat status {};
    const std::string path = manifest_->path_of(i);
    const bool is_file = manifest_->entries[i].kind == Entry::Kind::file;
    if (is_file &&
        ::fstatat(tree_.folder(), tree_.below(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      stamped.stamps[i] = stamp_of(status);
    }
  }
  const std::string part = name_ + std::string(unfinished);
  const std::string stamps = cache_.path() + "/" + part + "/" + stamps_name;
  if (auto kept = replace_file(stamps, stamped.encode()); !kept) return kept;
  if (::flock(folder_.get(), LOCK_SH | LOCK_NB) < 0) return fail_errno("cannot lock " + part);
  if (::renameat(cache_.folder(), part.c_str(), cache_.folder(), name_.c_str()) < 0) {
    return fail_errno("cannot rename " + cache_.path() + "/" + part);
  }
  whole_ = true;
  for (const std::string& version : other_versions()) cache_.remove_unused(version);
  return {};
}

void Copy::discard() {
  file_.reset();
  cache_.remove_unused(name_ + std::string(unfinished));
}

Result<OpenTree> Copy::tree() const {
  return tree_in(folder_, cache_.path() + "/" + name_);
}

}  // namespace toprun::stage
