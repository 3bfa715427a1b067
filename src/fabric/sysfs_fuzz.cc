// Any contents of a kernel's files, or of a copy of them.
#include <cstddef>
#include <cstdint>

#include "fabric/devices.h"
#include "fabric/interfaces.h"
#include "fabric/nccl_conf.h"
#include "fabric/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::fabric;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto gid = parse_gid(text)) (void)address_of(*gid);
  (void)parse_rate(text);
  (void)default_interface_v4(text);
  (void)default_interface_v6(text);
  (void)parse_nccl_conf(text, "nccl.conf");
  (void)parse_nccl_version(text);
  return 0;
}
