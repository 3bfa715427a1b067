// Fuzzes the lines that any process that reaches the port may send: parsing must not crash, and a
// parsed line must be the same after writing and parsing it again.
#include <cstdint>
#include <cstdlib>

#include "node/link/preamble.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto preamble = toprun::link::Preamble::parse(line)) {
    if (preamble->line() != std::string(line) + "\n") std::abort();
  }
  if (const auto turned = toprun::link::TurnedAway::parse(line)) {
    if (turned->line() != std::string(line) + "\n") std::abort();
  }
  return 0;
}
