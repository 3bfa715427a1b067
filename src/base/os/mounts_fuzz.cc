#include <cstdint>
#include <cstdlib>

#include "base/os/mounts.h"

// If a mount holds a path, the path begins with the mount point.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  const auto mounts = parse_mounts({reinterpret_cast<const char*>(data), size});
  for (const Mount& mount : mounts) {
    const Mount* const found = mount_of(mounts, mount.point);
    if (found != nullptr && !mount.point.starts_with(found->point)) std::abort();
  }
  return 0;
}
