#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::prefetch {

// Returns KEY, the name of the record of the files that `python` would import for `modules`; empty
// if there is no such Python. KEY is the same on all nodes that see the same environment. KEY
// changes if a package is installed, and is different for another Python. KEY is made from the
// program, pyvenv.cfg, the names in the site-packages folders (which contain each package's
// version), conda's history and PYTHONPATH. May block, because key_of() reads these files.
std::string key_of(const std::string& python, const Environment& environment,
                   const std::vector<std::string>& modules);

// The text of node/prepare/prefetch/probe.py.
extern const std::string_view probe;

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

// A record lists the files that imports read in an environment, in order.
// node/prepare/prefetch/probe.py writes it in this format. The path comes last in a line, so that
// it may contain blanks.
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

// Limits for a record. A record that exceeds one of these limits is malformed.
inline constexpr std::size_t most_record_bytes = 32u << 20;
inline constexpr std::size_t most_lines = 1'000'000;
inline constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;  // of all parts together
inline constexpr std::uint64_t largest_file = std::uint64_t{1} << 40;

// Parses the text of a record. The error names the first invalid line.
Result<Record> parse_record(std::string_view text);

// The records of this user's environments are $XDG_CACHE_HOME/toprun/prefetch/KEY.files, or below
// ~/.cache. Only files owned by this user or root are trusted. All functions here may block.

// Returns the folder of this user's records; nullopt if no variable names a home directory.
std::optional<std::filesystem::path> folder_of(const Environment& environment);

// Reads the record with this KEY; returns nullopt if there is no usable record. Ignores a record
// that is malformed, or older than the last change of the package folders. Error: a file or folder
// at this path belongs to another user.
Result<std::optional<Record>> find_kept(const std::filesystem::path& folder,
                                        const std::string& key);

// Writes the record atomically, in a folder that only this user may enter. Deletes the oldest
// records if there are more than `most_kept`.
Result<void> keep(const std::filesystem::path& folder, const std::string& key,
                  std::string_view text);
inline constexpr std::size_t most_kept = 64;

}  // namespace toprun::prefetch
