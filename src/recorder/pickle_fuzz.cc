#include <cstdint>
#include <cstdlib>

#include "recorder/dump.h"
#include "recorder/pickle.h"
#include "recorder/verdict.h"

// What is accepted is data that can be written, and judged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::recorder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto value = parse_pickle(bytes)) {
    value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  const auto dump = parse_dump(bytes);
  if (!dump) return 0;
  Dump other = *dump;
  if (!other.entries.empty()) other.entries.pop_back();
  judge({{0, *dump}, {1, other}});
  return 0;
}
