#include <cstdint>
#include <cstdlib>

#include "machine/container/enroot_conf.h"

// What is kept has a name and a value; expanding it ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::container;
  EnrootConf conf;
  parse_enroot_conf({reinterpret_cast<const char*>(data), size}, "enroot.conf", conf);
  for (const auto& [name, setting] : conf) {
    if (name.empty() || setting.value.empty()) std::abort();
    (void)expand_enroot(setting.value, {{"HOME", "/home/ada"}, {"A", "${A}"}});
  }
  return 0;
}
