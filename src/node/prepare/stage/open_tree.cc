#include "node/prepare/stage/open_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace toprun::stage {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * ns_per_second + time.tv_nsec;
}

}  // namespace

bool is_hole(const Fd& file, off_t begin, std::size_t size) {
  const off_t data = ::lseek(file.get(), begin, SEEK_DATA);
  if (data < 0) return errno == ENXIO;  // none up to its end
  return data >= begin + static_cast<off_t>(size);
}

const Hash& hash_of_zeros() {
  static const Hash hash = hash_of(std::string(chunk_bytes, '\0'));
  return hash;
}

// The manifest's length, the manifest, the stamps, and a hash of all before: the file may be cut.
std::string Stamped::encode() const {
  const std::string text = manifest.encode();
  std::string out;
  put(out, static_cast<std::uint64_t>(text.size()));
  out += text;
  for (const Stamp& stamp : stamps) {
    put(out, stamp.inode);
    put(out, stamp.changed_ns);
  }
  const Hash hash = hash_of(out);
  out += bytes_of(hash);
  return out;
}

Result<Stamped> Stamped::decode(std::string_view bytes) {
  if (bytes.size() < hash_bytes) return fail("stamps", "they are cut");
  const std::string_view content = bytes.substr(0, bytes.size() - hash_bytes);
  const Hash hash = hash_of(content);
  if (bytes.substr(content.size()) != bytes_of(hash)) return fail("stamps", "they are cut");
  Reader reader(content);
  auto manifest = TRY(Manifest::decode(reader.text(reader.number<std::uint64_t>())));
  Stamped stamped{std::move(manifest), {}};
  stamped.stamps.reserve(stamped.manifest.entries.size());
  for (std::size_t i = 0; i < stamped.manifest.entries.size(); ++i) {
    Stamp stamp;
    stamp.inode = reader.number<std::uint64_t>();
    stamp.changed_ns = reader.number<std::int64_t>();
    stamped.stamps.push_back(stamp);
  }
  if (reader.is_short() || reader.left() > 0) return fail("stamps", "they are of another manifest");
  return stamped;
}

Stamp stamp_of(const struct stat& status) {
  return {status.st_ino, nanoseconds(status.st_ctim)};
}

std::int64_t mtime_of(const struct stat& status) {
  return nanoseconds(status.st_mtim);
}

Fd OpenTree::open(const std::string& path, int flags, unsigned mode) const {
  const std::string name = below(path);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, folder_.get(), name.c_str(), &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  // Linux before 5.6, or a filter of system calls.
  if (errno != ENOSYS && errno != EPERM) return {};
  return Fd(::openat(folder_.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode));
}

}  // namespace toprun::stage
