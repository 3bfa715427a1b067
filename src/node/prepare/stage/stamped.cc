#include "node/prepare/stage/stamped.h"

#include <sys/stat.h>

#include "node/prepare/stage/bytes.h"

namespace toprun::stage {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * ns_per_second + time.tv_nsec;
}

}  // namespace

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

}  // namespace toprun::stage
