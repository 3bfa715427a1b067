#include "output/tail.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace toprun::output {
namespace {

constexpr std::string_view traceback_mark = "Traceback (most recent call last):";
constexpr std::string_view ignored_mark = "Exception ignored";
constexpr std::size_t longest_exception_lines = 8;
constexpr std::size_t longest_exception_line_bytes = 1000;

// The length of the UTF-8 sequence at the start of `text`, 0 if it is not valid (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

// The length of a terminal's control sequence (ECMA-48 CSI, such as a colour) at the start of
// `text`, 0 if there is none.
std::size_t control_sequence_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  std::size_t i = 2;
  while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x3f) ++i;
  return i < text.size() && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : 0;
}

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

// Removes the prefix that PyTorch puts before a rank's traceback, if present.
std::string_view without_prefix(std::string_view line, std::string_view prefix) {
  return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

// Whether a line continues an exception's message: not a log line ("[W1121 …", "[rank0]:[W1121 …"),
// not the C++ stack that PyTorch adds, not the interpreter's next message.
bool continues_message(std::string_view line) {
  constexpr std::array<std::string_view, 5> others = {"[", "frame #", "Exception raised from",
                                                      ignored_mark, traceback_mark};
  return !line.empty() && std::ranges::none_of(others, [&](std::string_view other) {
    return line.starts_with(other);
  });
}

}  // namespace

void Tail::add(int source, std::string_view bytes) {
  if (source != std::exchange(source_, source) && !text_.empty() && text_.back() != '\n') {
    text_ += '\n';
  }
  if (bytes.size() > kept_bytes) bytes.remove_prefix(bytes.size() - kept_bytes);
  // Cutting only at twice the kept size keeps the cost per byte constant.
  if (text_.size() + bytes.size() > 2 * kept_bytes) {
    text_.erase(0, text_.size() + bytes.size() - kept_bytes);
  }
  text_ += bytes;
}

std::string shown_line(std::string_view line, std::size_t limit_bytes) {
  line = without_line_end(line);
  line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 is 0
  std::string out;
  while (!line.empty()) {
    if (out.size() > limit_bytes) return out + "…";
    if (const std::size_t skipped = control_sequence_length(line)) {
      line.remove_prefix(skipped);
      continue;
    }
    const std::size_t length = utf8_length(line);
    const std::string_view piece = line.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(piece[0]));
    } else if (piece == "\t") {
      out += "    ";
    } else {
      out += printable(piece);
    }
    line.remove_prefix(piece.size());
  }
  return out;
}

std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < count) {
    text = without_line_end(text);
    const std::size_t start = text.rfind('\n') + 1;
    std::string line = shown_line(text.substr(start), line_limit_bytes);
    if (!trim(line).empty()) out.push_back(std::move(line));
    text = text.substr(0, start);
  }
  std::ranges::reverse(out);
  return out;
}

std::string last_exception(std::string_view text) {
  for (std::size_t mark = text.rfind(traceback_mark); mark != std::string_view::npos;
       mark = mark == 0 ? std::string_view::npos : text.rfind(traceback_mark, mark - 1)) {
    const std::size_t line_start = text.substr(0, mark).rfind('\n') + 1;
    const std::string_view prefix = text.substr(line_start, mark - line_start);
    const std::string_view before = without_line_end(text.substr(0, line_start));
    const std::string_view line_before = before.substr(before.rfind('\n') + 1);
    if (without_prefix(line_before, prefix).starts_with(ignored_mark)) continue;

    const auto lines = split(text.substr(mark), '\n');
    std::string exception;
    std::size_t taken = 0;
    for (std::size_t i = 1; i < lines.size() && taken < longest_exception_lines; ++i) {
      const std::string_view line = without_line_end(without_prefix(lines[i], prefix));
      const bool in_stack = exception.empty() && (line.empty() || line.starts_with(' '));
      if (in_stack) continue;
      if (taken > 0 && !continues_message(line)) break;
      exception += (taken++ > 0 ? "\n" : "") + shown_line(line, longest_exception_line_bytes);
    }
    return exception;
  }
  return {};
}

}  // namespace toprun::output
