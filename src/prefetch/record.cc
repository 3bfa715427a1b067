#include "prefetch/record.h"

#include <fmt/format.h>

#include <climits>
#include <nlohmann/json.hpp>

namespace toprun::prefetch {
namespace {

using nlohmann::json;

// Devices and the kernel's own files are nothing that an import needs early.
bool is_fit(const std::string& path) {
  if (!path.starts_with('/') || path.size() >= PATH_MAX || path.find('\0') != std::string::npos) {
    return false;
  }
  for (const char* folder : {"/proc/", "/sys/", "/dev/"}) {
    if (path.starts_with(folder)) return false;
  }
  return (path + "/").find("/../") == std::string::npos;
}

std::optional<Range> range_in(const json& pair) {
  if (!pair.is_array() || pair.size() != 2) return std::nullopt;
  if (!pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) return std::nullopt;
  const Range range{pair[0].get<std::uint64_t>(), pair[1].get<std::uint64_t>()};
  if (range.offset > largest_file || range.length > largest_file) return std::nullopt;
  return range;
}

std::optional<Entry> entry_in(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto path = object.find("path");
  if (path == object.end() || !path->is_string()) return std::nullopt;
  Entry entry{path->get<std::string>()};
  if (!is_fit(entry.path)) return std::nullopt;
  const auto ranges = object.find("ranges");
  if (ranges == object.end()) return entry;
  if (!ranges->is_array()) return std::nullopt;
  entry.ranges.emplace();
  for (const json& pair : *ranges) {
    const auto range = range_in(pair);
    if (!range) return std::nullopt;
    entry.ranges->push_back(*range);
  }
  return entry;
}

std::optional<Record::Folder> folder_in(const json& pair) {
  if (!pair.is_array() || pair.size() != 2) return std::nullopt;
  if (!pair[0].is_string() || !pair[1].is_number_integer()) return std::nullopt;
  return Record::Folder{pair[0].get<std::string>(), pair[1].get<std::int64_t>()};
}

}  // namespace

Result<Record> parse_record(std::string_view text) {
  if (text.size() > most_record_bytes) return fail("the record", "it is too long");
  const json whole = json::parse(text, nullptr, false);
  if (!whole.is_object()) return fail("the record", "it is no whole JSON object");
  const auto version = whole.find("version");
  if (version == whole.end() || *version != 1) return fail("the record", "its version is not 1");
  const auto files = whole.find("files");
  if (files == whole.end() || !files->is_array() || files->size() > most_entries) {
    return fail("the record", "it has no list of files");
  }
  Record record;
  record.entries.reserve(files->size());
  std::size_t ranges = 0;
  std::uint64_t bytes = 0;
  for (const json& file : *files) {
    auto entry = entry_in(file);
    if (!entry) return fail("the record", fmt::format("file {}", record.entries.size() + 1));
    for (const Range& range : entry->ranges.value_or(std::vector<Range>())) {
      bytes += range.length;
      if (++ranges > most_ranges || bytes > most_bytes) {
        return fail("the record", "it names too much");
      }
    }
    record.entries.push_back(*std::move(entry));
  }
  const auto folders = whole.find("folders");
  if (folders == whole.end()) return record;
  if (!folders->is_array() || folders->size() > most_folders) {
    return fail("the record", "it has no list of folders");
  }
  for (const json& pair : *folders) {
    auto folder = folder_in(pair);
    if (!folder) return fail("the record", "a folder");
    record.folders.push_back(*std::move(folder));
  }
  return record;
}

}  // namespace toprun::prefetch
