#include <cstdint>
#include <cstdlib>

#include "base/net/hostlist.h"

// Expanded names must survive compression, host by host.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::hosts;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t few_hosts = 10'000;  // keeps each input fast
  const auto hosts = parse_hostlist(text, few_hosts);
  if (hosts) {
    const auto again = parse_hostlist(compress_hostlist(*hosts));
    if (!again || *again != *hosts) std::abort();
  } else if (hosts.error().column > size + 1) {
    std::abort();
  }
  (void)expand_counts(text.substr(0, 64));
  return 0;
}
