#include "node/output/tail.h"

#include <algorithm>
#include <span>

#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "node/output/lines.h"
#include "run/model/exit.h"

namespace toprun::output {
namespace {

constexpr std::string_view traceback_mark = "Traceback (most recent call last):";
constexpr std::string_view ignored_mark = "Exception ignored";
constexpr std::size_t longest_exception_lines = 8;
constexpr std::size_t longest_exception_line_bytes = 1000;
constexpr std::size_t longest_prefix_bytes = 200;
constexpr std::size_t longest_traceback_lines = 200;  // in which its prefix is looked for

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
  return tells_of_a_script_s_text(line) || model::tells_of_a_missing_program(line) ? line : "";
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

// The line by which PyTorch names the signal that ended a data loader's worker. The exception that
// follows from it says only that the worker has gone.
std::string end_of_data_loader_worker(std::string_view text, std::string_view exception) {
  constexpr std::string_view killed = " is killed by signal: ";
  if (!exception.contains("DataLoader worker (pid(s) ") || exception.contains(killed)) return {};
  const std::size_t at = text.rfind(killed);
  if (at == std::string_view::npos) return {};
  const std::size_t start = text.substr(0, at).rfind("DataLoader worker (pid ");
  if (start == std::string_view::npos) return {};
  const std::string_view line = text.substr(start, text.find('\n', at) - start);
  if (line.find('\n') != std::string_view::npos) return {};
  std::string shown = shown_line(without_line_end(line), longest_exception_line_bytes);
  while (shown.ends_with(' ')) shown.pop_back();
  return shown;
}

}  // namespace

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
    const std::string why = end_of_data_loader_worker(text, exception);
    return why.empty() ? exception : exception + "\n" + why;
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
