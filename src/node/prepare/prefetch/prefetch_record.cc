#include "node/prepare/prefetch/prefetch_record.h"

#include <fmt/format.h>

#include <climits>

#include "base/text/text.h"

namespace toprun::prefetch {
namespace {

constexpr std::string_view first_line = "toprun prefetch 1";

// Devices and the kernel's own files are nothing that an import needs early.
bool is_fit(std::string_view path) {
  if (!path.starts_with('/') || path.size() >= PATH_MAX || path.find('\0') != path.npos) {
    return false;
  }
  for (const std::string_view folder : {"/proc/", "/sys/", "/dev/"}) {
    if (path.starts_with(folder)) return false;
  }
  return path.find("/../") == path.npos && !path.ends_with("/..");
}

// The text up to the first blank, which is cut off it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::uint64_t> take_size(std::string_view& line) {
  const auto number = parse_int(take_word(line));
  if (!number || *number < 0 || std::cmp_greater(*number, largest_file)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// False: the line is malformed.
bool take_line(std::string_view line, Record& record, std::uint64_t& bytes) {
  const std::string_view kind = take_word(line);
  Range range;
  if (kind == "packages") {
    const auto changed = parse_int(take_word(line));
    if (!changed || !is_fit(line)) return false;
    record.packages.push_back({std::string(line), *changed});
    return true;
  }
  if (kind == "part") {
    const auto offset = take_size(line);
    const auto length = offset ? take_size(line) : std::nullopt;
    if (!length) return false;
    range = {*offset, *length};
    bytes += range.length;
  } else if (kind != "whole" && kind != "look") {
    return false;
  }
  if (!is_fit(line) || bytes > most_bytes) return false;
  using enum Entry::Kind;
  record.entries.push_back({kind == "part"    ? part
                            : kind == "whole" ? whole
                                              : looked_at,
                            std::string(line), range});
  return true;
}

}  // namespace

Result<Record> parse_record(std::string_view text) {
  if (text.size() > most_record_bytes) return fail("the record", "it is too long");
  Record record;
  std::uint64_t bytes = 0;
  for (std::size_t number = 1; number <= most_lines; ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == text.npos) return fail("the record", "it is cut off");
    text.remove_prefix(end + 1);
    if (number > 1 && line == "end" && text.empty()) return record;
    if (number == 1 ? line != first_line : !take_line(line, record, bytes)) {
      return fail("the record", fmt::format("line {}", number));
    }
  }
  return fail("the record", "it has too many lines");
}

}  // namespace toprun::prefetch
