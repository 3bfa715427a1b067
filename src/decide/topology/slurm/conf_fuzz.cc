#include <cstdint>

#include "decide/topology/slurm/conf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The file includes its own second half, so the test covers Include without a file system.
  const auto include = [&](const std::string& path) -> Result<std::string> {
    if (path != "half") return fail("cannot read " + path);
    return std::string(text.substr(size / 2));
  };
  (void)topology::parse_slurm_conf(text, "t", include);
  return 0;
}
