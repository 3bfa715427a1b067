#include "machine/container/expand.h"

#include <algorithm>

#include "base/text/text.h"

namespace toprun::container {
namespace {

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

Result<std::string> value_of(std::string_view inner, const Lookup& lookup) {
  constexpr std::string_view otherwise = ":-";
  const auto mark = inner.find(otherwise);
  const std::string_view name = inner.substr(0, mark);
  if (!is_name(name)) {
    return usage(fmt::format("${{{}}}", printable(inner)), "must be ${NAME} or ${NAME:-WORD}");
  }
  const auto value = lookup(name);
  if (value && (!value->empty() || mark == inner.npos)) return *value;
  if (mark != inner.npos) return std::string(inner.substr(mark + otherwise.size()));
  return usage(fmt::format("${{{}}}", name), "is not set",
               fmt::format("set it, or write ${{{}:-}}", name));
}

}  // namespace

Result<std::string> expand(std::string_view text, const Lookup& lookup) {
  std::string out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar + 1);
    if (!text.starts_with('{')) {
      out += '$';
      if (text.starts_with('$')) text.remove_prefix(1);
      continue;
    }
    const auto end = text.find('}');
    if (end == text.npos) return usage("$" + printable(text), "has no closing brace");
    const auto value = value_of(text.substr(1, end - 1), lookup);
    if (!value) return value;
    out += *value;
    if (out.size() > max_expanded_bytes) return usage("a value", "is longer than 1 MiB");
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace toprun::container
