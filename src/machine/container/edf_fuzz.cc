#include <cstdint>
#include <cstdlib>

#include "machine/container/edf.h"
#include "machine/container/image.h"

// What is accepted has an image of a known form and absolute targets.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::container;
  const auto edf = parse_edf({reinterpret_cast<const char*>(data), size}, "a.toml", {{"A", "x"}});
  if (!edf) return 0;
  if (edf->image && !parse_image(*edf->image)) std::abort();
  for (const Bind& bind : edf->mounts) {
    if (!bind.target.starts_with('/')) std::abort();
  }
  return 0;
}
