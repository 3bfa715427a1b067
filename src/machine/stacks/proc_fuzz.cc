#include <cstdint>
#include <cstdlib>

#include "machine/stacks/find.h"
#include "machine/stacks/proc.h"

// Every mapping has a size and a path.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::stacks;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_stat(text);
  labelled_number(text, "syscr");
  if (inner_id(text).value_or(1) <= 0) std::abort();
  for (const Mapping& mapping : parse_maps(text)) {
    if (mapping.end <= mapping.start || !mapping.path.starts_with('/')) std::abort();
    if (minor_in_name(mapping.path) < 0) std::abort();
  }
  return 0;
}
