#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::prefetch {

// A range of bytes in a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// A file or folder that an import reads or checks.
struct Entry {
  enum class Kind {
    looked_at,  // only the status of the path is read; perhaps the path does not exist
    whole,      // the whole file, or the names in the folder
    part,       // a part of a library
  } kind = Kind::whole;
  std::string path;  // an absolute path
  Range range = {};  // the range of a part
};

// A folder of installed packages.
struct Packages {
  std::string path;
  std::int64_t changed_ns = 0;  // the time of the folder's last change, since 1970
};

// The files of an environment that imports read, in order. The lines are written by
// node/prepare/prefetch/probe.py. The path comes last, so that it may contain blanks.
//
//   toprun prefetch 1
//   packages 1795575911123456789 /opt/venv/lib/python3.11/site-packages
//   whole /opt/venv/lib/a.pyc
//   look /opt/venv/lib/__init__.so
//   part 65536 8192 /opt/venv/lib/b.so
//   end
//
// The record is only a hint: files in it may have been removed or changed.
struct Record {
  std::vector<Entry> entries;
  std::vector<Packages> packages = {};
};

// Limits for a record. A record beyond these limits is malformed.
inline constexpr std::size_t most_record_bytes = 32u << 20;
inline constexpr std::size_t most_lines = 1'000'000;
inline constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;  // of all parts together
inline constexpr std::uint64_t largest_file = std::uint64_t{1} << 40;

// An error names the first invalid line.
Result<Record> parse_record(std::string_view text);

}  // namespace toprun::prefetch
