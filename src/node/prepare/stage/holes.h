#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/os/fd.h"
#include "node/prepare/stage/hash.h"

namespace toprun::stage {

// A file may have holes: parts that use no disk space and read as zeros. A chunk that contains only
// zeros is not read, sent or written. In a copy, such a chunk is a hole.

// Whether the file has no data in this part, which may be after the file's end.
bool is_hole(const Fd& file, off_t begin, std::size_t size);

// The hash of a chunk of chunk_bytes zeros.
const Hash& hash_of_zeros();

}  // namespace toprun::stage
