#include "node/prepare/prefetch/reading.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/fd.h"

namespace toprun::prefetch {
namespace {

constexpr std::uint64_t step = 128u << 10;  // the kernel's usual read-ahead
constexpr std::size_t sample_size = 48;
// Larger ones are not files of a module.
constexpr std::uint64_t largest_whole_file = 256u << 20;

// mincore(2) tells only owners and those who may write; to others all pages seem to be there.
bool is_reported(int file, const struct stat& status) {
  return status.st_uid == ::geteuid() || ::geteuid() == 0 ||
         ::faccessat(file, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

bool is_page_in_cache(int file, std::uint64_t offset) {
  char byte = 0;
  iovec into{&byte, 1};
  return ::preadv2(file, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT) >= 0;
}

// Whether this part of a file is in the page cache. False where that is unknown. Without mincore(2)
// only some pages are looked at, because such a look makes the kernel read a page that is missing.
bool is_in_cache(int file, const struct stat& status, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t end = offset + length;
  if (!is_reported(file, status)) {
    for (std::uint64_t at = offset; at < end; at += step) {
      if (!is_page_in_cache(file, at)) return false;
    }
    return is_page_in_cache(file, end - 1);
  }
  offset = offset / page * page;
  void* const mapped =
      ::mmap(nullptr, end - offset, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  std::vector<unsigned char> pages((end - offset + page - 1) / page);
  const bool reported = ::mincore(mapped, end - offset, pages.data()) == 0;
  ::munmap(mapped, end - offset);
  return reported &&
         std::ranges::all_of(pages, [](unsigned char there) { return (there & 1) != 0; });
}

// A plain file or a folder, and its status. What opening a device does is unknown.
Fd open_to_read(const std::string& path, struct stat& status) {
  const auto is_fit = [&] { return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode); };
  if (::stat(path.c_str(), &status) != 0 || !is_fit()) return {};
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file || ::fstat(file.get(), &status) != 0 || !is_fit()) return {};
  return file;
}

void read_names(Fd folder) {
  DIR* const names = ::fdopendir(folder.get());
  if (names == nullptr) return;
  folder.release();
  while (::readdir(names) != nullptr) {
  }
  ::closedir(names);
}

}  // namespace

Reading::Reading(const Record& record) : touched_(record.entries.size()) {
  for (const Entry& entry : record.entries) {
    if (paths_.empty() || paths_.back() != entry.path) paths_.push_back(entry.path);
    const std::size_t number = paths_.size() - 1;
    if (entry.kind != Entry::Kind::part) {
      small_.push_back({number, entry.kind});
      continue;
    }
    const std::uint64_t end = entry.range.offset + entry.range.length;
    for (std::uint64_t at = entry.range.offset; at < end; at += piece_bytes) {
      libraries_.push_back(
          {number, entry.kind, {at, std::min<std::uint64_t>(end - at, piece_bytes)}});
    }
  }
}

bool Reading::is_cached() const {
  for (const std::vector<Piece>* row : {&libraries_, &small_}) {
    const std::size_t stride = std::max<std::size_t>(row->size() / sample_size, 1);
    for (std::size_t i = 0; i < row->size() && !stopped_; i += stride) {
      const Piece& piece = (*row)[i];
      if (piece.kind == Entry::Kind::looked_at) continue;
      struct stat status {};
      const Fd file = open_to_read(paths_[piece.path], status);
      if (!file || !S_ISREG(status.st_mode)) continue;
      const auto size = static_cast<std::uint64_t>(status.st_size);
      if (size > piece.range.offset && !is_in_cache(file.get(), status, piece.range.offset, 1)) {
        return false;
      }
    }
  }
  return true;
}

void Reading::work(std::size_t thread) {
  std::vector<char> buffer(piece_bytes);
  if (thread % 2 == 0) take(small_, next_small_, buffer);
  take(libraries_, next_library_, buffer);
  take(small_, next_small_, buffer);
}

void Reading::take(const std::vector<Piece>& row, std::atomic<std::size_t>& next,
                   std::vector<char>& buffer) {
  while (!stopped_) {
    const std::size_t number = next++;
    if (number >= row.size()) return;
    read(row[number], buffer);
  }
}

void Reading::read(const Piece& piece, std::vector<char>& buffer) {
  struct stat status {};
  const std::string& path = paths_[piece.path];
  if (piece.kind == Entry::Kind::looked_at) return (void)::stat(path.c_str(), &status);
  Fd file = open_to_read(path, status);
  if (!file) return;
  if (S_ISDIR(status.st_mode)) return read_names(std::move(file));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const bool is_part = piece.kind == Entry::Kind::part;
  std::uint64_t at = is_part ? piece.range.offset : 0;
  const std::uint64_t end = std::min(size, is_part ? at + piece.range.length : largest_whole_file);
  if (at >= end || is_in_cache(file.get(), status, at, end - at)) return;
  // One request for all of it, then its parts as they come.
  ::posix_fadvise(file.get(), static_cast<off_t>(at), static_cast<off_t>(end - at),
                  POSIX_FADV_WILLNEED);
  std::uint64_t read = 0;
  while (at < end && !stopped_) {
    const std::uint64_t length = std::min<std::uint64_t>(end - at, buffer.size());
    const ssize_t n = ::pread(file.get(), buffer.data(), length, static_cast<off_t>(at));
    if (n <= 0) break;
    at += static_cast<std::uint64_t>(n);
    read += static_cast<std::uint64_t>(n);
  }
  bytes_ += read;
  if (read > 0 && !touched_[piece.path].test_and_set()) ++files_;
}

}  // namespace toprun::prefetch
