#include "base/text/shown_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/secrets.h"
#include "base/text/text.h"

namespace toprun {
namespace {

std::string without_colours(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t colour = text.find("\033[");
    out += text.substr(0, colour);
    if (colour == text.npos) break;
    const std::size_t end = text.find_first_not_of("0123456789;", colour + 2);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

// k8s.io/klog, formatHeader(): "E1124 17:24:18.147198 …".
bool is_log_line(std::string_view line) {
  constexpr std::string_view severities = "IWEF";
  constexpr std::size_t digits = 4;
  return line.size() > digits + 1 && severities.contains(line.front()) &&
         line.substr(1, digits).find_first_not_of("0123456789") == std::string_view::npos &&
         line[digits + 1] == ' ';
}

// Of a line of klog's the text of its err="…", which is quoted as in Go; else what follows the
// header.
std::string statement_of(std::string_view line) {
  constexpr std::string_view key = " err=\"";
  const std::size_t begin = line.find(key);
  if (begin == std::string_view::npos) {
    const std::size_t end = line.find("] ");
    return end == std::string_view::npos ? std::string() : std::string(trim(line.substr(end + 2)));
  }
  std::string text;
  for (std::size_t at = begin + key.size(); at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    text += line[at];
  }
  return text;
}

std::string_view without_label(std::string_view line) {
  for (const std::string_view label : {"error: ", "Error: ", "Error from server "}) {
    if (line.starts_with(label)) line.remove_prefix(label.size());
  }
  // logrus on a terminal: "ERRO[0000] …".
  const std::size_t end = line.find("] ");
  if (line.starts_with("ERRO[") && end != std::string_view::npos) line.remove_prefix(end + 2);
  return trim(line);
}

void add_once(std::vector<std::string>& lines, std::string_view words, std::size_t most) {
  std::string line = printable(words);
  if (line.empty() || lines.size() == most) return;
  if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
}

constexpr int most_states_looked_at = 64;  // for one that is not blank
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

}  // namespace

std::string last_words(std::string_view written, std::size_t count) {
  std::vector<std::string> lines;
  const std::string plain = without_colours(written);
  for (const std::string_view line : split(plain, '\n')) {
    const std::string_view words = trim(line);
    if (words.empty()) continue;
    if (words.starts_with(':') && !lines.empty()) {
      lines.back() += printable(words);
    } else {
      lines.push_back(printable(words));
    }
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return join(lines, " | ");
}

std::vector<std::string> complaint(std::string_view stderr_text, std::size_t most) {
  std::vector<std::string> said, logged;
  for (const std::string_view line : split(stderr_text, '\n')) {
    const std::string_view words = without_label(trim(line));
    if (is_log_line(words)) {
      add_once(logged, statement_of(words), most);
    } else {
      add_once(said, words, most);
    }
  }
  return said.empty() ? logged : said;
}

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

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

std::vector<std::string> last_public_lines(std::string_view text, std::size_t count,
                                           std::size_t limit_bytes) {
  std::vector<std::string> lines = last_lines(text, count, bytes_looked_at_for_secrets);
  for (std::string& line : lines) {
    line = shown_line(line_without_secrets(line), limit_bytes - cut_bytes);
  }
  return lines;
}

}  // namespace toprun
