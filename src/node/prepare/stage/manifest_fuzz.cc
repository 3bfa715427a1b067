// Fuzzes manifests from the network: reading must not crash, what was read must be written as the
// same bytes, and no path may lead out of the folder.
#include <cstdlib>

#include "node/prepare/stage/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto manifest = toprun::stage::Manifest::decode(bytes);
  if (!manifest) return 0;
  if (manifest->encode() != bytes) std::abort();
  for (std::size_t i = 1; i < manifest->entries.size(); ++i) {
    const std::string path = "/" + manifest->path_of(i) + "/";
    if (path.find("/../") != std::string::npos || path.find("//") != std::string::npos) {
      std::abort();
    }
  }
  for (std::uint32_t chunk = 0; chunk < manifest->hashes.size(); ++chunk) {
    const auto& entry = manifest->entries.at(manifest->entry_of(chunk));
    if (chunk < entry.first_chunk || chunk >= entry.first_chunk + entry.chunks()) std::abort();
  }
  return 0;
}
