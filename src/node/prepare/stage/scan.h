#pragma once

#include <string>

#include "base/text/error.h"
#include "node/prepare/stage/open_tree.h"

namespace toprun::stage {

// A folder or file that is staged, and its location on the root's node.
struct Source {
  Stamped stamped;
  OpenTree tree;
  std::uint64_t hashed_bytes = 0;  // bytes that were hashed; the hashes of all other bytes were
                                   // known
};

// Reads and hashes a folder or file, whose path must not contain links. Sockets, pipes and devices
// are left out. `known`: the result of an earlier scan; files that have not changed since this scan
// are not read again. Errors: a file cannot be read, or changes during the scan.
Result<Source> scan(const std::string& path, const Stamped* known);

// Whether the file still matches the manifest, judged by its size and time.
bool is_as_scanned(int fd, const Entry& entry);

}  // namespace toprun::stage
