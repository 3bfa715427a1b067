#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/prepare/stage/manifest.h"

struct stat;

namespace toprun::stage {

// A file may have holes, which are parts that use no disk space and read as zeros. A chunk that
// contains only zeros is not read, sent or written. In a copy, such a chunk is a hole.

// Whether this part of the file has no data. The part may lie beyond the file's end.
bool is_hole(const Fd& file, off_t begin, std::size_t size);

// Returns the hash of a chunk of chunk_bytes zeros.
const Hash& hash_of_zeros();

// Metadata of a file that shows whether the file has changed since it was read. The kernel changes
// this data whenever a program changes the file, even if the program resets the file's time.
struct Stamp {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;  // 0: do not rely on this stamp
  bool operator==(const Stamp&) const = default;
};

// A manifest, and for each file the stamp that it had when it was hashed (zeros for other entries).
// Files need not be hashed again while their stamps, sizes and times are the same.
struct Stamped {
  Manifest manifest;
  std::vector<Stamp> stamps;  // indexed by entry

  std::string encode() const;
  static Result<Stamped> decode(std::string_view bytes);
};

Stamp stamp_of(const struct stat& status);
std::int64_t mtime_of(const struct stat& status);

// The location of a folder or file. The entries of the folder's manifest are opened relative to an
// open folder, and links on the way are not followed.
class OpenTree {
 public:
  OpenTree() = default;
  // The location is `name` in `folder`. `path` is used in errors.
  OpenTree(Fd folder, std::string name, std::string path)
      : folder_(std::move(folder)), name_(std::move(name)), path_(std::move(path)) {}

  // Opens a path of the manifest (empty: the location itself). On failure, the result is not open
  // and errno is set.
  Fd open(const std::string& path, int flags, unsigned mode = 0) const;
  // The descriptor of the folder, for system calls such as openat() with a path from below().
  int folder() const { return folder_.get(); }
  std::string below(const std::string& path) const {
    return path.empty() ? name_ : name_ + "/" + path;
  }
  // Returns the whole path, for messages.
  std::string text(const std::string& path) const {
    return path.empty() ? path_ : path_ + "/" + path;
  }

 private:
  Fd folder_;
  std::string name_, path_;
};

}  // namespace toprun::stage
