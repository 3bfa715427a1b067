#include "chart/words.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace toprun::chart {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";
constexpr double width_per_font_px = 0.6;
constexpr double wide_width_per_font_px = 1;
constexpr char32_t first_wide = 0x1100;  // scripts behind it are mostly wide

std::vector<Character> characters(std::string_view text) {
  std::vector<Character> all;
  while (!text.empty()) {
    all.push_back(first_character(text));
    text.remove_prefix(all.back().bytes.size());
  }
  return all;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const Character& character : characters(text)) {
    if (!is_harmless(character) && !(character.valid && character.bytes.size() == 1)) {
      out += replacement;
      continue;
    }
    const std::string_view escaped =
        character.bytes.size() == 1 ? entity(character.bytes[0]) : std::string_view();
    out += escaped.empty() ? printable(character.bytes) : escaped;
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most_characters) {
  const std::vector<Character> all = characters(text);
  if (all.size() <= most_characters) return std::string(text);
  const std::size_t behind = (most_characters - 1) / 2;
  std::string out;
  for (std::size_t i = 0; i < most_characters - 1 - behind; ++i) out += all[i].bytes;
  out += ellipsis;
  for (std::size_t i = all.size() - behind; i < all.size(); ++i) out += all[i].bytes;
  return out;
}

double width_px(std::string_view text, double font_px) {
  double width = 0;
  for (const Character& character : characters(text)) {
    width += character.code >= first_wide && character.code != 0x2026 ? wide_width_per_font_px
                                                                      : width_per_font_px;
  }
  return width * font_px;
}

std::string coordinate(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0 : rounded);
}

}  // namespace toprun::chart
