#include "scheduler/refusal.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace toprun::scheduler {
namespace {

constexpr std::size_t most_lines = 4;

// A line of klog's, "E1124 17:24:18.147198 …".
bool is_log_line(std::string_view line) {
  constexpr std::string_view severities = "IWEF";
  constexpr std::size_t digits = 4;
  return line.size() > digits + 1 && severities.contains(line.front()) &&
         line.substr(1, digits).find_first_not_of("0123456789") == std::string_view::npos &&
         line[digits + 1] == ' ';
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

}  // namespace

Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices) {
  std::vector<std::string> said;
  for (const std::string_view line : split(stderr_text, '\n')) {
    const std::string_view words = without_label(trim(line));
    if (words.empty() || is_log_line(words)) continue;
    if (said.size() < most_lines) said.emplace_back(words);
  }
  Error error{std::string(command),
              said.empty() ? "it gave no reason" : printable(join(said, "; ")), "", exit_failure};
  for (const Advice& advice : advices) {
    if (stderr_text.find(advice.words) == std::string_view::npos) continue;
    error.fix = advice.fix;
    break;
  }
  return error;
}

}  // namespace toprun::scheduler
