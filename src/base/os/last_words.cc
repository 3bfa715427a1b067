#include "base/os/last_words.h"

#include <vector>

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

}  // namespace toprun
