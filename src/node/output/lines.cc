#include "node/output/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>

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

// The offset of the first \n or \r, or the size. All output of the ranks passes through here, so
// two memchr() searches replace find_first_of(), which tests every byte. The search runs in
// windows, so that many short lines with one kind of end do not each search all the rest for the
// other kind.
std::size_t first_line_end(std::string_view bytes) {
  constexpr std::size_t window_bytes = 256;
  for (std::size_t start = 0; start < bytes.size(); start += window_bytes) {
    const std::string_view window = bytes.substr(start, window_bytes);
    const std::size_t newline = std::min(window.find('\n'), window.size());
    const std::size_t end = std::min(window.substr(0, newline).find('\r'), newline);
    if (end < window.size()) return start + end;
  }
  return bytes.size();
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

std::string Filter::add(std::string_view text) {
  std::string out;
  if (text.empty()) return out;
  // Fast path: most text contains no needle, so the lines need not be split.
  if (begun_.empty() && ends_line(text.back()) && !matches(text)) return out;
  while (!text.empty()) {
    const std::size_t end = end_of_first_line(text);
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(end);
    const bool whole = ends_line(piece.back());
    if (whole && begun_.empty()) {
      append_if_matching(piece, out);
      continue;
    }
    begun_ += piece;
    if (whole || begun_.size() >= longest_line_bytes) out += flush();
  }
  return out;
}

std::string Filter::flush() {
  std::string out;
  if (!begun_.empty()) append_if_matching(begun_, out);
  begun_.clear();
  return out;
}

bool Filter::matches(std::string_view text) const {
  return std::ranges::any_of(needles_, [text](const std::string& needle) {
    return ::memmem(text.data(), text.size(), needle.data(), needle.size()) != nullptr;
  });
}

void Filter::append_if_matching(std::string_view line, std::string& out) const {
  while (!line.empty() && ends_line(line.back())) line.remove_suffix(1);
  if (!matches(line)) return;
  out.append(prefix_).append(line) += '\n';
}

std::size_t end_of_last_line(std::string_view bytes) {
  const void* const newline = bytes.empty() ? nullptr : ::memrchr(bytes.data(), '\n', bytes.size());
  const std::size_t end =
      newline == nullptr
          ? 0
          : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
  const std::size_t carriage_return = bytes.substr(end).rfind('\r');
  return carriage_return == std::string_view::npos ? end : end + carriage_return + 1;
}

std::size_t end_of_first_line(std::string_view bytes) {
  const std::size_t end = first_line_end(bytes);
  if (end == bytes.size()) return end;
  const bool both = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
  return end + (both ? 2 : 1);
}

std::string Lines::add(std::string_view bytes) {
  const std::size_t end = end_of_last_line(bytes);
  std::string out;
  if (end > 0) {
    out.reserve(held_.size() + end);
    out.append(held_).append(bytes.substr(0, end));
    held_.clear();
  }
  held_.append(bytes.substr(end));
  if (held_.size() >= longest_held_bytes) out += flush();
  return out;
}

std::string Lines::flush() {
  return std::exchange(held_, {});
}

}  // namespace toprun::output
