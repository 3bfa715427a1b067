#include "machine/stacks/proc.h"

#include <algorithm>
#include <charconv>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::stacks {
namespace {

std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The rest of the line that begins with "NAME:".
std::optional<std::string_view> labelled(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return trim(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// "start-end perms offset device inode path", the path after blanks and with blanks of its own.
std::optional<Mapping> parse_mapping(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto fields = words(line.substr(0, slash));
  if (fields.size() != 5) return std::nullopt;
  const auto range = split(fields[0], '-');
  if (range.size() != 2 || fields[1].size() < 4) return std::nullopt;
  const auto start = number(range[0], 16);
  const auto end = number(range[1], 16);
  const auto offset = number(fields[2], 16);
  if (!start || !end || !offset || *end <= *start) return std::nullopt;
  return Mapping{*start, *end, *offset, fields[1][1] == 'w', std::string(line.substr(slash))};
}

}  // namespace

std::optional<Stat> parse_stat(std::string_view text) {
  // The name is in parentheses and may itself contain any character.
  const std::size_t name = text.find('(');
  const std::size_t name_end = text.rfind(')');
  if (name == std::string_view::npos || name_end == std::string_view::npos || name_end < name) {
    return std::nullopt;
  }
  const auto fields = words(text.substr(name_end + 1));  // from the third on
  constexpr std::size_t state = 0, minflt = 7, cminflt = 8, majflt = 9, cmajflt = 10, utime = 11,
                        stime = 12, cutime = 13, cstime = 14, num_threads = 17, rss = 21;
  if (fields.size() <= num_threads || fields[state].size() != 1) return std::nullopt;
  const auto sum = [&](std::initializer_list<std::size_t> places) {
    std::uint64_t total = 0;
    for (const std::size_t place : places) total += number(fields[place]).value_or(0);
    return total;
  };
  Stat out;
  out.command = text.substr(name + 1, name_end - name - 1);
  out.state = fields[state][0];
  out.minor_faults = sum({minflt, cminflt});
  out.major_faults = sum({majflt, cmajflt});
  out.cpu_ticks = sum({utime, stime, cutime, cstime});
  out.reaped_ticks = sum({cutime, cstime});
  out.threads = static_cast<int>(std::min<std::uint64_t>(sum({num_threads}), 1u << 30));
  if (fields.size() > rss) out.resident_pages = sum({rss});
  return out;
}

std::string contents_of(const std::string& path) {
  return read_file(path).value_or("");
}

std::optional<std::uint64_t> labelled_number(std::string_view text, std::string_view name) {
  const auto value = labelled(text, name);
  return value ? number(*value) : std::nullopt;
}

std::optional<int> inner_id(std::string_view status) {
  const auto ids = labelled(status, "NSpid");
  const auto numbers = words(ids.value_or(""));
  const auto id = numbers.empty() ? std::nullopt : parse_int(numbers.back());
  return id && *id > 0 && *id < 1 << 30 ? std::optional(static_cast<int>(*id)) : std::nullopt;
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> out;
  for (const std::string_view line : split(text, '\n')) {
    if (out.size() == most_mappings) break;
    if (auto mapping = parse_mapping(line)) out.push_back(std::move(*mapping));
  }
  return out;
}

}  // namespace toprun::stacks
