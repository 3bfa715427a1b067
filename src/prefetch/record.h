#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::prefetch {

// Bytes of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// One file or folder that an import reads or looks at.
struct Entry {
  std::string path;  // absolute
  // What is read of a library. Empty: it is only looked at, and may not exist. Unset: the whole
  // file is read, or the folder's names.
  std::optional<std::vector<Range>> ranges = {};
};

// What imports read of an environment, in their order (prefetch/probe.py writes it):
//
//   {"version": 1, "files": [{"path": "/opt/venv/lib/a.pyc"},
//                            {"path": "/opt/venv/lib/b.so", "ranges": [[0, 4096], [65536, 8192]]},
//                            {"path": "/opt/venv/lib/__init__.so", "ranges": []}]}
//
// It is a hint: what it names may be gone or changed. Its "folders" are those of installed
// packages,
// [["/opt/venv/lib/site-packages", 1795575911123456789]], with the times of their last changes.
struct Record {
  std::vector<Entry> entries;
  struct Folder {
    std::string path;
    std::int64_t changed_ns = 0;  // since 1970
  };
  std::vector<Folder> folders = {};
};

// Limits; a record beyond them is malformed.
inline constexpr std::size_t most_record_bytes = 32u << 20;
inline constexpr std::size_t most_entries = 200'000;
inline constexpr std::size_t most_folders = 1'000;
inline constexpr std::size_t most_ranges = 1'000'000;                 // of all files together
inline constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;  // of all ranges together
inline constexpr std::uint64_t largest_file = std::uint64_t{1} << 40;

// An error says what is wrong with the text.
Result<Record> parse_record(std::string_view text);

}  // namespace toprun::prefetch
