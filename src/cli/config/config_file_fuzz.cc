#include <cstdint>
#include <cstdlib>

#include "cli/config/config_file.h"

// Every entry of an accepted file has a key and a line; an error is one line with a place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::config;
  const auto file =
      parse_config({reinterpret_cast<const char*>(data), size}, {"t", "/folder", "/home/user"});
  if (!file) {
    if (!file.error().line().starts_with("t:")) std::abort();
    return 0;
  }
  const auto check = [](const ConfigTable& table) {
    for (const ConfigEntry& entry : table) {
      if (entry.key.empty() || entry.line < 1) std::abort();
    }
  };
  check(file->options);
  for (const auto& [name, table] : file->profiles) check(table);
  return 0;
}
