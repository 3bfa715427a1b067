#include "base/text/complaint.h"

#include <algorithm>

#include "base/text/text.h"

namespace toprun {
namespace {

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

}  // namespace

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

}  // namespace toprun
