#include <cstdint>
#include <cstdlib>
#include <unordered_set>

#include "base/net/host_file.h"

// Accepted input names each host once, and no name could be an option for ssh.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::hosts;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = parse_host_file(text, "f");
  const auto option = parse_hosts(text, "--hosts");
  for (const auto* hosts : {file ? &file->hosts : nullptr, option ? &*option : nullptr}) {
    if (hosts == nullptr) continue;
    std::unordered_set<std::string> names;
    for (const NamedHost& host : *hosts) {
      if (host.name.empty() || host.login.starts_with('-')) std::abort();
      if (!names.insert(host.name).second || names.size() > max_named_hosts) std::abort();
    }
  }
  return 0;
}
