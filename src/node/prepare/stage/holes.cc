#include "node/prepare/stage/holes.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "node/prepare/stage/manifest.h"

namespace toprun::stage {

bool is_hole(const Fd& file, off_t begin, std::size_t size) {
  const off_t data = ::lseek(file.get(), begin, SEEK_DATA);
  if (data < 0) return errno == ENXIO;  // none up to its end
  return data >= begin + static_cast<off_t>(size);
}

const Hash& hash_of_zeros() {
  static const Hash hash = hash_of(std::string(chunk_bytes, '\0'));
  return hash;
}

}  // namespace toprun::stage
