#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/text/error.h"
#include "node/prepare/stage/place.h"
#include "node/prepare/stage/stamped.h"

namespace toprun::stage {

// What is staged, and where it lies on the root's node.
struct Source {
  Stamped stamped;
  Place place;
  std::uint64_t hashed_bytes = 0;  // the others' hashes were known
};

// Reads and hashes a folder or file; a path without links. Sockets, pipes and devices are left out.
// `known`: of an earlier scan; files that are as they were then are not read again. Errors: what
// cannot be read, or changes meanwhile.
Result<Source> scan(const std::string& path, const Stamped* known);

// Whether the file still is what the manifest says, as far as its size and time tell.
bool is_as_scanned(int fd, const Entry& entry);

}  // namespace toprun::stage
