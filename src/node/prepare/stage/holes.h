#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/os/fd.h"
#include "node/prepare/stage/hash.h"

namespace toprun::stage {

// A file may have holes: parts that take no room and read as zeros. A whole chunk of zeros is not
// read, not sent and not written: in a copy it is a hole.

// Whether the file has no data in this part of it, which may lie behind its end.
bool is_hole(const Fd& file, off_t begin, std::size_t size);

// The hash of a chunk of chunk_bytes zeros.
const Hash& hash_of_zeros();

}  // namespace toprun::stage
