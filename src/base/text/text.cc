#include "base/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

namespace toprun {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the digits at the start of `text` and returns them.
std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::string_view without_leading_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

void append_printable(std::string& out, const Character& character) {
  if (is_harmless(character)) {
    out += character.bytes;
  } else if (character.bytes == "\n") {
    out += "\\n";
  } else if (character.bytes == "\t") {
    out += "\\t";
  } else {
    for (const char c : character.bytes) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
}

// Moves the printable ASCII at the start of the text to `out`: most of what is said is nothing
// else.
void move_plain(std::string_view& text, std::string& out) {
  const auto end = std::ranges::find_if(text, [](char c) { return c < ' ' || c > '~'; });
  const auto plain = static_cast<std::size_t>(end - text.begin());
  out += text.substr(0, plain);
  text.remove_prefix(plain);
}

// The length of the colour sequence at the start of the text, as in "\033[1;31m"; 0: none.
std::size_t colour_bytes(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string counted_text(std::int64_t count, std::string_view noun) {
  const bool takes_es = noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : takes_es ? "es" : "s");
}

std::string bytes_text(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  // What would be rounded to 1024 of a unit is 1 of the next.
  for (; bytes >= 1023.5 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  const int decimals = bytes >= 100 || bytes == std::floor(bytes) ? 0 : bytes >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, units[unit]);
}

std::string ranges_text(std::span<const int> numbers, std::size_t most) {
  std::vector<std::string> parts;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    if (parts.size() == most) {
      parts.push_back(fmt::format("{} more", std::distance(first, numbers.end())));
      break;
    }
    parts.push_back(first == last ? fmt::to_string(*first) : fmt::format("{}-{}", *first, *last));
    first = std::next(last);
  }
  return join(parts, ",");
}

std::vector<int> numbers_of_ranges(std::string_view text, std::size_t most) {
  std::vector<int> numbers;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || !std::in_range<int>(*last)) continue;
    for (auto number = *first; number <= *last && numbers.size() < most; ++number) {
      numbers.push_back(static_cast<int>(number));
    }
  }
  return numbers;
}

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC0 || lead >= 0xF8 || text.size() < length) return {text.substr(0, 1), 0, false};
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {text.substr(0, 1), 0, false};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool valid =
      code >= least[length] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
  return {text.substr(0, valid ? length : 1), code, valid};
}

bool is_harmless(const Character& character) {
  const char32_t code = character.code;
  const bool controls = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool turns_direction = (code >= 0x202A && code <= 0x202E) ||
                               (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                               code == 0x200F || code == 0x061C;
  const bool ends_line = code == 0x2028 || code == 0x2029;
  const bool is_none = code == 0xFFFE || code == 0xFFFF;
  // Two names that differ would look the same. (Joiners, U+200C and U+200D, are part of scripts.)
  const bool is_unseen = code == 0xAD || code == 0x200B || (code >= 0x2060 && code <= 0x2064) ||
                         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
  return character.valid && !controls && !turns_direction && !ends_line && !is_none && !is_unseen;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view first_line(std::string_view text) {
  text = trim(text);
  return trim(text.substr(0, text.find('\n')));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && is_blank(text[i])) ++i;
    const std::size_t start = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    if (i > start) parts.push_back(text.substr(start, i - start));
  }
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  // A common beginning decides nothing, unless a number continues after it. Names in a
  // cluster share most of their letters, and there are 100,000 of them to sort.
  auto same = static_cast<std::size_t>(
      std::mismatch(a.begin(),
                    a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
  while (same > 0 && is_digit(a[same - 1])) --same;
  a.remove_prefix(same);
  b.remove_prefix(same);
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = without_leading_zeros(take_digits(a));
      const std::string_view y = without_leading_zeros(take_digits(b));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the row before `last`
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

static std::string without_digits(std::string_view name) {
  std::string rest(name);
  std::erase_if(rest, [](char c) { return c >= '0' && c <= '9'; });
  return rest;
}

std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string> candidates) {
  // In so short a word one wrong letter can stand for any candidate.
  constexpr std::size_t fewest_letters = 3;
  if (word.size() < fewest_letters) return std::nullopt;
  // If a third of the letters is wrong, it is not a typing error.
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> nearest;
  bool is_tie = false;  // of names that differ in their digits alone, none is more likely
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
      is_tie = false;
    } else if (distance == best && nearest && candidate != *nearest) {
      is_tie = is_tie || without_digits(candidate) == without_digits(*nearest);
    }
  }
  return is_tie ? std::nullopt : nearest;
}

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    move_plain(text, out);
    if (text.empty()) return out;
    const Character character = first_character(text);
    append_printable(out, character);
    text.remove_prefix(character.bytes.size());
  }
}

std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    move_plain(text, out);
    if (text.empty()) return out;
    const Character character = first_character(text);
    const bool stays = character.bytes == "\n" || character.bytes == "\t";
    const std::size_t kept = stays ? 1 : colour_bytes(text);
    if (kept > 0) {
      out += text.substr(0, kept);
    } else {
      append_printable(out, character);
    }
    text.remove_prefix(std::max(kept, character.bytes.size()));
  }
}

std::string shell_quote(std::span<const std::string> argv) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace toprun
