#include <cstdint>

#include "decide/topology/name_rule.h"

// The first line is the rule, the second a name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::vector<Member> members = {{std::string(text.substr(std::min(end + 1, size))), "", ""}};
  (void)map_of_names(text.substr(0, end), members);
  return 0;
}
