#include "node/output/display.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <optional>

#include "node/output/lines.h"

namespace toprun::output {
namespace {

constexpr std::string_view default_template = "[${role_name}${local_rank}]:";
// Cyan, yellow, green, magenta, blue and their bright variants; no red, which marks errors.
constexpr std::array colours = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::optional<std::string> value_of(std::string_view name, const PrefixFacts& facts) {
  if (name == "role_name") return std::string(facts.role_name);
  if (name == "local_rank") return fmt::to_string(facts.local_rank);
  if (name == "rank") return fmt::to_string(facts.rank);
  if (name == "hostname") return std::string(facts.hostname);
  return std::nullopt;
}

struct Macro {
  std::string_view name;
  std::size_t bytes;  // $ and braces included
};

// The macro at the `$` that starts `text`; an empty name if there is none.
Macro macro_at(std::string_view text) {
  const std::size_t start = text.size() > 1 && text[1] == '{' ? 2 : 1;
  std::size_t end = start;
  while (end < text.size() && is_name_part(text[end])) ++end;
  if (start == 2 && (end == text.size() || text[end] != '}')) return {{}, 1};
  return {text.substr(start, end - start), start == 2 ? end + 1 : end};
}

}  // namespace

std::string Display::compose(std::string lines) {
  if (lines.empty()) return lines;
  const char last = lines.back();
  const bool breaks = cursor_.owner != Cursor::no_owner && cursor_.owner != id_;
  // A \n that arrives after its \r completes that line; it does not start a new one.
  const bool at_start = cursor_.owner != id_ && !(after_return_ && lines.front() == '\n');
  cursor_.owner = ends_line(last) ? Cursor::no_owner : id_;
  after_return_ = last == '\r';
  if (prefix_.empty() && !breaks) return lines;
  std::string out;
  out.reserve(1 + prefix_.size() + lines.size());
  if (breaks) out += '\n';
  if (prefix_.empty()) {
    out += lines;
  } else {
    append_prefixed(lines, at_start, out);
  }
  return out;
}

void Display::append_prefixed(std::string_view piece, bool at_start, std::string& out) const {
  while (!piece.empty()) {
    const std::size_t end = end_of_first_line(piece);
    if (at_start) out += prefix_;
    out.append(piece.substr(0, end));
    at_start = ends_line(piece[end - 1]);
    piece.remove_prefix(end);
  }
}

std::string expand_prefix(std::string_view prefix_template, const PrefixFacts& facts) {
  std::string_view rest = prefix_template.empty() ? default_template : prefix_template;
  std::string out;
  while (!rest.empty()) {
    const std::size_t dollar = std::min(rest.find('$'), rest.size());
    out += rest.substr(0, dollar);
    rest.remove_prefix(dollar);
    if (rest.empty()) break;
    if (rest.starts_with("$$")) {
      out += '$';
      rest.remove_prefix(2);
      continue;
    }
    const Macro macro = macro_at(rest);
    out += value_of(macro.name, facts).value_or(std::string(rest.substr(0, macro.bytes)));
    rest.remove_prefix(macro.bytes);
  }
  return out;
}

std::string coloured(std::string_view text, int number) {
  const auto index = static_cast<std::size_t>(number) % colours.size();
  return fmt::format("\x1b[{}m{}\x1b[0m", colours[index], text);
}

}  // namespace toprun::output
