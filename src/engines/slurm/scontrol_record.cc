#include "engines/slurm/scontrol_record.h"

#include <algorithm>
#include <ctime>

#include "base/text/text.h"

namespace toprun::engines::slurm {
namespace {

constexpr std::int64_t most_days = 100'000;

bool in_key(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '/' || c == ':' || c == '-';
}

// The length of the key at the start of the text; 0: no key.
std::size_t key_length(std::string_view text) {
  if (text.empty() || text[0] < 'A' || text[0] > 'Z') return 0;
  std::size_t length = 0;
  while (length < text.size() && in_key(text[length])) ++length;
  return length < text.size() && text[length] == '=' ? length : 0;
}

// The length of the value at the start of the text, which ends before the blank in front of the
// next key.
std::size_t value_length(std::string_view text) {
  for (std::size_t blank = text.find(' '); blank != std::string_view::npos;
       blank = text.find(' ', blank + 1)) {
    if (key_length(text.substr(blank + 1)) > 0) return blank;
  }
  return text.size();
}

std::string_view reported(std::string_view value) {
  const bool none = value == "(null)" || value == "N/A" || value == "n/a" || value == "None";
  return none ? std::string_view() : value;
}

// A number of at most two digits, as in a clock.
std::optional<int> clock_part(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 0 || text.size() > 2) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

Record::Record(std::string_view line) {
  line = trim(line);
  while (!line.empty() && fields_.size() < max_fields_per_record) {
    const std::size_t length = key_length(line);
    if (length > 0) {
      const std::string_view rest = line.substr(length + 1);
      const std::size_t value = value_length(rest);
      fields_.push_back({line.substr(0, length), trim(rest.substr(0, value))});
      line = rest.substr(std::min(value + 1, rest.size()));
    } else {
      const std::size_t blank = line.find(' ');
      line = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
    }
  }
}

std::string_view Record::get(std::string_view key) const {
  const auto field = std::ranges::find(fields_, key, &Field::key);
  return field == fields_.end() ? std::string_view() : reported(field->value);
}

std::string_view Record::last(std::string_view key) const {
  const auto field = std::find_if(fields_.rbegin(), fields_.rend(),
                                  [&](const Field& one) { return one.key == key; });
  return field == fields_.rend() ? std::string_view() : reported(field->value);
}

std::vector<std::string_view> record_lines(std::string_view text, std::string_view key) {
  std::vector<std::string_view> records;
  const auto begins = [&](std::string_view line) {
    return line.starts_with(key) && line.substr(key.size()).starts_with('=');
  };
  std::size_t start = std::string_view::npos;
  for (std::size_t line = 0; line < text.size() && records.size() < max_records;) {
    const std::size_t next = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (begins(text.substr(line, next - line))) {
      if (start != std::string_view::npos) records.push_back(text.substr(start, line - start));
      start = line;
    }
    line = next;
  }
  if (start != std::string_view::npos && records.size() < max_records) {
    records.push_back(text.substr(start));
  }
  return records;
}

std::vector<std::string_view> pieces(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> found;
  while (!text.empty() && found.size() < max_records) {
    const std::size_t end = std::min(text.find(separator), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return found;
}

std::optional<std::chrono::seconds> duration(std::string_view text) {
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = parse_int(text.substr(0, dash));
    if (!number || *number < 0 || *number > most_days) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::int64_t seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = clock_part(part);
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return std::chrono::seconds(days * 86'400 + seconds);
}

std::optional<WallTime> moment(std::string_view text) {
  constexpr std::int64_t year_9999 = 253'402'300'799;
  if (const auto number = parse_int(text)) {
    if (*number <= 0 || *number > year_9999) return std::nullopt;
    return WallTime(std::chrono::seconds(*number));
  }
  std::tm parts{};
  const std::string copy(text.substr(0, 32));
  const char* const end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  parts.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&parts);
  if (seconds <= 0 || seconds > year_9999) return std::nullopt;
  return std::chrono::system_clock::from_time_t(seconds);
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  return parse_int(text.substr(0, digits));
}

}  // namespace toprun::engines::slurm
