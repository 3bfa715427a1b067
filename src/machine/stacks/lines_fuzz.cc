#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "machine/stacks/layout.h"

// The first bytes are the first line and the place; no line is negative.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::stacks;
  int numbers[2];
  if (size < sizeof numbers) return 0;
  std::memcpy(numbers, data, sizeof numbers);
  const auto table = std::as_bytes(std::span(data, size)).subspan(sizeof numbers);
  for (const auto line : {line_by_lnotab, line_by_ranges, line_by_locations}) {
    if (line(table, numbers[0], numbers[1]) < 0) std::abort();
  }
  return 0;
}
