#include <charconv>
#include <optional>

#include "base/text/version.h"

namespace toprun {
namespace {

struct Numbers {
  int major = 0, minor = 0, patch = 0;
};

std::optional<Numbers> numbers_of(std::string_view version) {
  Numbers numbers;
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int* const number : {&numbers.major, &numbers.minor, &numbers.patch}) {
    if (number != &numbers.major && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || *number < 0) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return numbers;
}

}  // namespace

bool work_together(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const auto a = numbers_of(one);
  const auto b = numbers_of(other);
  if (!a || !b || a->major != b->major) return false;
  return a->minor - b->minor <= 1 && b->minor - a->minor <= 1;
}

}  // namespace toprun
