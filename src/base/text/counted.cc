#include "base/text/counted.h"

#include <fmt/format.h>

namespace toprun {

std::string counted_text(std::int64_t count, std::string_view noun) {
  const bool takes_es = noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : takes_es ? "es" : "s");
}

}  // namespace toprun
