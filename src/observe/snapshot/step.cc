#include <algorithm>
#include <array>
#include <string>

#include "base/text/text.h"
#include "observe/snapshot/board.h"

namespace toprun::snapshot {
namespace {

constexpr std::array<std::string_view, 4> names = {"global_step", "step", "iteration", "iter"};
constexpr std::size_t most_digits = 18;
constexpr std::string_view digits = "0123456789";

bool is_of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || c == '_' || digits.contains(c);
}

// The number at the start, 0.5 or 12a being none.
std::optional<std::uint64_t> number_at(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of(digits), text.size());
  if (end == 0 || end > most_digits) return std::nullopt;
  const std::string_view rest = text.substr(end);
  const bool has_fraction = rest.size() > 1 && rest[0] == '.' && digits.contains(rest[1]);
  if (has_fraction || (!rest.empty() && is_of_a_word(rest[0]))) return std::nullopt;
  return static_cast<std::uint64_t>(*parse_int(text.substr(0, end)));
}

std::optional<std::uint64_t> step_named(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at > 0 && is_of_a_word(text[at - 1])) continue;
    const std::string_view rest = text.substr(at + name.size());
    const std::size_t between = rest.find_first_not_of(" \t:=#[(");
    if (between == 0 || between == std::string_view::npos) continue;
    if (const auto number = number_at(rest.substr(between))) return number;
  }
  return std::nullopt;
}

// "41:", "1:02:"
bool begins_with_a_time(std::string_view text) {
  const std::size_t end = text.find_first_not_of(digits);
  return end > 0 && end != std::string_view::npos && text[end] == ':';
}

// "230/1000 [00:41": as tqdm and others draw it.
std::optional<std::uint64_t> step_of_a_bar(std::string_view text) {
  const std::size_t bracket = text.find(" [");
  const std::size_t slash = text.substr(0, bracket).rfind('/');
  if (bracket == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
  if (!begins_with_a_time(text.substr(bracket + 2))) return std::nullopt;
  if (!number_at(text.substr(slash + 1, bracket - slash - 1))) return std::nullopt;
  const std::size_t before = text.substr(0, slash).find_last_not_of(digits);
  return number_at(text.substr(before + 1, slash - before - 1));
}

}  // namespace

std::optional<std::uint64_t> step_in(std::string_view line) {
  const std::string text = lower(line);
  for (const std::string_view name : names) {
    if (const auto step = step_named(text, name)) return step;
  }
  return step_of_a_bar(text);
}

}  // namespace toprun::snapshot
