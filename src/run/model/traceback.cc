#include "run/model/traceback.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "machine/stacks/library_file.h"

namespace toprun::model {
namespace {

std::string_view without_rank(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const std::size_t end = line.find("]:");
  return end == line.npos ? line : line.substr(end + 2);
}

// Not a file of the user's, or one without a name that helps: "<string>".
bool is_elsewhere(std::string_view file) {
  return file.starts_with('<') || stacks::is_of_library(file);
}

}  // namespace

std::optional<Frame> frame_in(std::string_view text) {
  constexpr std::string_view before_file = "File \"", before_line = "\", line ",
                             before_name = ", in ";
  text = trim(without_rank(text));
  const std::size_t line = text.find(before_line);
  if (!text.starts_with(before_file) || line == text.npos) return std::nullopt;
  Frame frame;
  frame.file = text.substr(before_file.size(), line - before_file.size());
  const std::string_view rest = text.substr(line + before_line.size());
  frame.line = rest.substr(0, rest.find(','));
  const std::size_t name = text.find(before_name, line);
  if (name != text.npos) frame.function = text.substr(name + before_name.size());
  return frame;
}

std::string users_place(const Frame& frame) {
  const bool is_named = !frame.function.empty() && !frame.function.starts_with('<');
  return fmt::format("{}, line {}{}", printable(frame.file), printable(frame.line),
                     is_named ? ", in " + printable(frame.function) : "");
}

std::string users_place(std::span<const std::string> output) {
  std::string place;
  for (const std::string& line : output) {
    const auto frame = frame_in(line);
    if (frame && !is_elsewhere(frame->file)) place = users_place(*frame);
  }
  return place;
}

bool was_caught_nowhere(std::string_view exception, std::span<const std::string> output) {
  const std::string_view first = trim(exception.substr(0, exception.find('\n')));
  if (first.empty()) return false;
  bool in_traceback = false;
  for (const std::string_view line : output) {
    const std::string_view text = without_rank(line);
    if (text.size() == line.size()) continue;
    if (frame_in(line)) in_traceback = true;
    if (in_traceback && trim(text) == first) return true;
  }
  return false;
}

}  // namespace toprun::model
