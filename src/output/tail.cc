#include "output/tail.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/secrets.h"
#include "base/text.h"
#include "output/lines.h"

namespace toprun::output {
namespace {

constexpr std::string_view traceback_mark = "Traceback (most recent call last):";
constexpr std::string_view ignored_mark = "Exception ignored";
constexpr std::size_t longest_exception_lines = 8;
constexpr std::size_t longest_exception_line_bytes = 1000;
constexpr std::size_t longest_prefix_bytes = 200;
constexpr std::size_t longest_traceback_lines = 200;  // in which its prefix is looked for
constexpr int most_states_looked_at = 64;             // for one that is not blank
// A secret that is cut shows no more by its form what it is.
constexpr std::size_t bytes_looked_at_for_secrets = 1024;
// By so much shown_line() may exceed its limit: the last character and the mark.
constexpr std::size_t cut_bytes = 8;

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

bool is_within(char c, char first, char last) {
  return c >= first && c <= last;
}

// The length of a terminal's control sequence at the start of `text`, 0 if there is none (ECMA-48):
// CSI, such as a colour; OSC, such as a title or a link; a choice of characters, as by tput sgr0.
std::size_t control_sequence_length(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b') return 0;
  std::size_t i = 2;
  if (text[1] == '[') {
    while (i < text.size() && is_within(text[i], ' ', '?')) ++i;
    return i < text.size() && is_within(text[i], '@', '~') ? i + 1 : 0;
  }
  if (text[1] == ']') {
    const std::size_t end = text.find_first_of("\x07\x1b", i);
    if (end == std::string_view::npos) return 0;
    if (text[end] == '\x07') return end + 1;
    return text.substr(end).starts_with("\x1b\\") ? end + 2 : 0;
  }
  return is_within(text[1], '(', '+') && is_within(text[2], '0', '~') ? 3 : 0;
}

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

// Removes the prefix that PyTorch puts before a rank's traceback, if present.
std::string_view without_prefix(std::string_view line, std::string_view prefix) {
  return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

// The end of what stands before a traceback's first line that one of the next lines begins with,
// too: all before it is a line that was not finished, such as a progress bar's.
std::string_view repeated_prefix(std::string_view before,
                                 std::span<const std::string_view> next_lines) {
  if (before.size() > longest_prefix_bytes) {
    before.remove_prefix(before.size() - longest_prefix_bytes);
  }
  const auto is_repeated = [&](std::string_view line) { return line.starts_with(before); };
  while (!before.empty() && std::ranges::none_of(next_lines, is_repeated)) before.remove_prefix(1);
  return before;
}

// "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: …"
bool is_warning_of_python(std::string_view line) {
  return line.starts_with('/') && line.contains(".py:") && line.contains("Warning: ");
}

// Whether a line continues an exception's message: not a log line ("[W1121 …", "[rank0]:[W1121 …"),
// not the C++ stack that PyTorch adds, not the next message of the interpreter or of C++.
bool continues_message(std::string_view line) {
  constexpr std::array<std::string_view, 8> others = {"[",
                                                      "frame #",
                                                      "Exception raised from",
                                                      ignored_mark,
                                                      traceback_mark,
                                                      "terminate called ",
                                                      "libc++abi: ",
                                                      "Fatal Python error: "};
  if (is_warning_of_python(line)) return false;
  return !line.empty() && std::ranges::none_of(others, [&](std::string_view other) {
    return line.starts_with(other);
  });
}

// A warning or a note that PyTorch's C++ code logs, such as
// "[W1128 12:00:00.123456789 socket.cpp:752] …", with or without the rank before it
// (c10/util/Logging.cpp): it tells nothing of how far a rank is.
bool is_note_of_pytorch(std::string_view line) {
  line = trim(line);
  if (line.starts_with("[rank")) {
    line.remove_prefix(std::min(line.size(), line.find("]:") + 2));
    line = trim(line);
  }
  constexpr std::string_view form = "[W0000 00:00:00.";
  if (line.size() < form.size() || (line[1] != 'W' && line[1] != 'I')) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (i == 1) continue;
    if (form[i] == '0' ? !is_within(line[i], '0', '9') : line[i] != form[i]) return false;
  }
  return true;
}

// Whether Python says by this line that it cannot compile the script.
bool tells_of_a_script_s_text(std::string_view line) {
  constexpr std::array<std::string_view, 3> errors = {
      "SyntaxError: ", "IndentationError: ", "TabError: "};
  return std::ranges::any_of(errors,
                             [&](std::string_view error) { return line.starts_with(error); });
}

// The last line, if Python says by it that it does not run the script at all: then there is no
// traceback.
std::string refusal_of_python(std::string_view text) {
  const auto lines = last_lines(text, 1, longest_exception_line_bytes);
  if (lines.empty()) return {};
  const std::string& line = lines.front();
  return tells_of_a_script_s_text(line) || tells_of_a_missing_program(line) ? line : "";
}

// Keeps the end of `text`. Returns how many bytes it dropped at the start.
std::size_t append_bounded(std::string& text, std::string_view bytes) {
  if (bytes.size() > Tail::kept_bytes) bytes.remove_prefix(bytes.size() - Tail::kept_bytes);
  // Cutting only at twice the kept size keeps the cost per byte constant.
  const bool is_full = text.size() + bytes.size() > 2 * Tail::kept_bytes;
  const std::size_t dropped = is_full ? text.size() + bytes.size() - Tail::kept_bytes : 0;
  text.erase(0, dropped);
  text += bytes;
  return dropped;
}

}  // namespace

bool tells_of_a_missing_program(std::string_view line) {
  constexpr std::array<std::string_view, 4> errors = {
      "No module named ", "Error while finding module specification for '", "can't open file '",
      "can't find '__main__' module in '"};
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view path = line.substr(0, colon);
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!name.starts_with("python") || name.contains(' ')) return false;
  return std::ranges::any_of(
      errors, [&](std::string_view error) { return line.substr(colon + 2).starts_with(error); });
}

void Tail::add(Source source, std::string_view bytes) {
  append_bounded(of_source_[index(source)], bytes);
  Unfinished& unfinished = unfinished_[index(source)];
  if (const std::size_t end = end_of_last_line(bytes); end > 0) {
    add_lines(source, std::exchange(unfinished.line, {}));
    add_lines(source, bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
  append_bounded(unfinished.line, bytes);
  unfinished.at = lines_.size();
  unfinished.follows_own = last_ == source;
}

void Tail::add_lines(Source source, std::string_view bytes) {
  if (bytes.empty()) return;
  if (std::exchange(last_, source) != source && !lines_.empty() && lines_.back() != '\n') {
    lines_ += '\n';
  }
  const std::size_t dropped = append_bounded(lines_, bytes);
  for (Unfinished& other : unfinished_) other.at -= std::min(other.at, dropped);
}

std::string Tail::text() const {
  std::array<const Unfinished*, 2> in_order = {&unfinished_[0], &unfinished_[1]};
  std::ranges::stable_sort(in_order, {}, &Unfinished::at);
  std::string all;
  std::size_t taken = 0;
  const auto end_line = [&] {
    if (!all.empty() && all.back() != '\n') all += '\n';
  };
  for (const Unfinished* unfinished : in_order) {
    if (unfinished->line.empty()) continue;
    all += std::string_view(lines_).substr(taken, unfinished->at - taken);
    taken = unfinished->at;
    if (!unfinished->follows_own) end_line();
    all += unfinished->line;
  }
  if (taken == lines_.size()) return all;
  end_line();
  return all += std::string_view(lines_).substr(taken);
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

std::vector<std::string> last_public_lines(std::string_view text, std::size_t count,
                                           std::size_t limit_bytes) {
  std::vector<std::string> lines = last_lines(text, count, bytes_looked_at_for_secrets);
  for (std::string& line : lines) {
    line = shown_line(line_without_secrets(line), limit_bytes - cut_bytes);
  }
  return lines;
}

std::string last_state(std::string_view text, std::size_t limit_bytes) {
  std::string note;
  for (int i = 0; i < most_states_looked_at && !text.empty(); ++i) {
    text = without_line_end(text);
    const std::size_t start = text.find_last_of("\r\n") + 1;  // npos + 1 is 0
    std::string line = shown_line(text.substr(start), bytes_looked_at_for_secrets);
    text = text.substr(0, start);
    if (trim(line).empty()) continue;
    if (!is_note_of_pytorch(line)) {
      return shown_line(line_without_secrets(line), limit_bytes - cut_bytes);
    }
    if (note.empty()) note = std::move(line);
  }
  return shown_line(line_without_secrets(note), limit_bytes - cut_bytes);
}

std::string last_exception(std::string_view text) {
  for (std::size_t mark = text.rfind(traceback_mark); mark != std::string_view::npos;
       mark = mark == 0 ? std::string_view::npos : text.rfind(traceback_mark, mark - 1)) {
    const std::size_t line_start = text.substr(0, mark).rfind('\n') + 1;
    const auto lines = split(text.substr(mark), '\n');
    const std::span next_lines = std::span(lines).subspan(1);
    const std::string_view prefix =
        repeated_prefix(text.substr(line_start, mark - line_start),
                        next_lines.first(std::min(next_lines.size(), longest_traceback_lines)));
    const std::string_view before = without_line_end(text.substr(0, line_start));
    const std::string_view line_before = before.substr(before.rfind('\n') + 1);
    if (without_prefix(line_before, prefix).starts_with(ignored_mark)) continue;

    std::string exception;
    std::size_t taken = 0;
    for (std::size_t i = 1; i < lines.size() && taken < longest_exception_lines; ++i) {
      const std::string_view line = without_line_end(without_prefix(lines[i], prefix));
      const bool in_stack =
          exception.empty() && (line.empty() || line.starts_with(' ') || is_note_of_pytorch(line));
      if (in_stack) continue;
      if (taken > 0 && !continues_message(line)) break;
      exception += (taken++ > 0 ? "\n" : "") + shown_line(line, longest_exception_line_bytes);
    }
    return exception;
  }
  return {};
}

std::string last_exception(const Tail& tail) {
  for (const Tail::Source source : {Tail::Source::err, Tail::Source::out}) {
    std::string exception = last_exception(tail.text_of(source));
    if (exception.empty()) exception = refusal_of_python(tail.text_of(source));
    if (!exception.empty()) return exception;
  }
  return {};
}

}  // namespace toprun::output
