#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "node/prepare/stage/manifest.h"

struct stat;

namespace toprun::stage {

// Data about a file that the kernel changes whenever a program changes the file, even if the
// program resets the file's time.
struct Stamp {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;  // 0: do not rely on this stamp
  bool operator==(const Stamp&) const = default;
};

// A manifest, and the stamps that its files had when the files were hashed (zeros for other
// entries). Files need not be hashed again while their stamps, sizes and times are the same.
struct Stamped {
  Manifest manifest;
  std::vector<Stamp> stamps;  // indexed by entry

  std::string encode() const;
  static Result<Stamped> decode(std::string_view bytes);
};

Stamp stamp_of(const struct stat& status);
std::int64_t mtime_of(const struct stat& status);

}  // namespace toprun::stage
