#include "node/plan/setup/pip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::setup {
namespace {

// A long message's beginning shows what failed, and its end (of a traceback) why.
constexpr std::size_t most_first_bytes = 200;
constexpr std::size_t most_last_bytes = 400;
constexpr std::size_t most_errors = 4;

// Lines that only frame another message or point to it.
constexpr std::array frames = {"note: ",
                               "hint: ",
                               "[end of output]",
                               "subprocess-exited-with-error",
                               "metadata-generation-failed",
                               "legacy-install-failure",
                               "Encountered error while generating package metadata.",
                               "Encountered error while trying to install package.",
                               "See above for"};

bool is_frame(std::string_view words) {
  return std::ranges::any_of(frames,
                             [&](std::string_view frame) { return words.starts_with(frame); });
}

bool begins_error(std::string_view line) {
  return line.starts_with("ERROR:") || line.starts_with("error:") || line.starts_with("Error:") ||
         line.starts_with("×");
}

// A compiler error such as "adapter.h:19:10: fatal error: torch/extension.h: No such file or
// directory": the cause within thousands of lines of build output. CMake prints the place in one
// line, which ends in a colon, and the error in the next.
bool is_compiler_error(std::string_view line) {
  return line.find(": error: ") != line.npos || line.find(": fatal error: ") != line.npos ||
         line.starts_with("CMake Error");
}

// "WARNING: Retrying (Retry(total=4, …)) after connection broken by 'X': /simple/demo/"
std::string_view broken_connection(std::string_view line) {
  constexpr std::string_view mark = "after connection broken by ";
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? "" : line.substr(at + mark.size());
}

std::string_view between(std::string_view text, std::string_view before, std::string_view ends) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find_first_of(ends));
}

// Why a connection failed, from the exception that pip prints, without Python's objects:
// "'NewConnectionError('<pip… object at 0x7f>: Failed to …: [Errno -3] Temporary failure in name
// resolution')': /simple/demo/".
std::string connection_error(std::string_view exception) {
  if (const auto errno_text = between(exception, "[Errno ", "'\")"); !errno_text.empty()) {
    return std::string(errno_text.substr(std::min(errno_text.find("] ") + 2, errno_text.size())));
  }
  if (exception.contains("timed out")) return "it timed out";
  std::string_view text = exception.substr(0, exception.rfind("': /"));
  if (text.starts_with('\'') || text.starts_with('"')) text.remove_prefix(1);
  return std::string(text);
}

// "pypi.org" of "https://me@pypi.org:443/simple".
std::string_view host_of_url(std::string_view url) {
  constexpr std::string_view mark = "://";
  url.remove_prefix(std::min(url.find(mark) + mark.size(), url.size()));
  url = url.substr(0, url.find('/'));
  url = url.substr(url.rfind('@') + 1);  // npos + 1: 0
  return url.substr(0, url.find(':'));
}

// Of "Looking in indexes: https://a/simple, file:///b", which pip prints for others than its
// default: the hosts.
std::string index_hosts(const std::vector<std::string>& lines) {
  constexpr std::string_view label = "Looking in indexes: ";
  std::vector<std::string> hosts;
  for (const std::string_view line : lines) {
    if (!line.starts_with(label)) continue;
    for (const std::string_view url : split(line.substr(label.size()), ',')) {
      if (trim(url).starts_with("http")) hosts.emplace_back(host_of_url(trim(url)));
    }
  }
  return hosts.empty() ? "pypi.org" : join(hosts, " or ");
}

// pip retries a broken connection: only these errors may be its consequence.
bool may_lack_an_index(std::string_view line) {
  return line.contains("(from versions: none)") || line.contains("Max retries exceeded");
}

// Removes the label: "ERROR: X" becomes X. Also removes the frames of newer pips around a build's
// output.
std::string_view without_label(std::string_view line) {
  line = trim(line);
  for (const std::string_view label : {"ERROR:", "error:", "Error:", "×", "│", "╰─>"}) {
    if (line.starts_with(label)) line = trim(line.substr(label.size()));
  }
  return line;
}

// Whether the line continues an error: such lines are indented.
bool continues(std::string_view line) {
  return line.starts_with(' ') || line.starts_with('\t') || line.starts_with("╰─>");
}

void add(std::vector<std::string>& errors, std::string_view words, bool to_last) {
  words = without_label(words);
  if (words.empty() || is_frame(words)) return;
  if (to_last && !errors.empty()) {
    errors.back() += fmt::format(" {}", words);
  } else if (std::ranges::find(errors, words) == errors.end()) {
    errors.emplace_back(words);
  }
}

std::string shortened(std::string words) {
  if (words.size() <= most_first_bytes + most_last_bytes) return words;
  const std::size_t first = words.rfind(' ', most_first_bytes);
  const std::size_t last = words.find(' ', words.size() - most_last_bytes);
  if (first == std::string::npos || last == std::string::npos) {
    return words.substr(0, most_first_bytes) + " …";
  }
  return words.substr(0, first) + " …" + words.substr(last);
}

}  // namespace

std::string missing_connection(const std::vector<std::string>& lines) {
  const auto error = std::ranges::find_if(lines, may_lack_an_index);
  if (error == lines.end()) return {};
  std::string_view exception = between(*error, "(Caused by ", "\n");
  for (const std::string_view line : lines) {
    if (const auto broken = broken_connection(line); !broken.empty()) exception = broken;
  }
  if (exception.empty()) return {};
  const std::string_view host = between(*error, "host='", "'");
  return printable(fmt::format("no connection to {}: {}",
                               host.empty() ? index_hosts(lines) : std::string(host),
                               connection_error(exception)));
}

std::string pips_words(const std::vector<std::string>& lines) {
  std::vector<std::string> errors;
  std::string compiler;
  bool in_error = false;
  for (const std::string& whole : lines) {
    const std::string_view line = whole;
    if (compiler.ends_with(':') && !trim(line).empty()) compiler += fmt::format(" {}", trim(line));
    if (compiler.empty() && is_compiler_error(trim(line))) compiler = trim(line);
    if (begins_error(trim(line))) {
      add(errors, line, false);
      in_error = true;
    } else if (in_error && continues(line)) {
      add(errors, line, true);
    } else if (!trim(line).empty()) {
      in_error = false;
    }
  }
  if (errors.size() > most_errors) errors.erase(errors.begin(), errors.end() - most_errors);
  std::string words = join(errors, "; ");
  if (!compiler.empty()) words += (words.empty() ? "" : "; ") + compiler;
  return printable(shortened(std::string(trim(words))));
}

}  // namespace toprun::setup
