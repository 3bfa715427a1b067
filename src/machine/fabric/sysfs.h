#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/fd.h"

namespace toprun::fabric {

inline constexpr std::size_t max_attribute_bytes = 16u << 10;

// Parses a whole number from 0 to 2⁶⁴−1 without a sign.
std::optional<std::uint64_t> parse_count(std::string_view text);

// A folder of small files. The folder is kept open, because opening a file by its whole path takes
// as long as reading it. If the folder does not exist, its files count as absent. Paths are
// relative to the folder.
class Folder {
 public:
  explicit Folder(const std::string& path);
  // Whether the folder exists.
  explicit operator bool() const { return static_cast<bool>(folder_); }
  // Like Sysfs::text(), number(), names() and link().
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> number(const std::string& path) const;
  std::vector<std::string> names(const std::string& path) const;
  std::vector<std::string> link(const std::string& path) const;
  // Returns the names of the entries in this folder, unordered. Call own_names() only once: a
  // second call returns nothing.
  std::vector<std::string> own_names() const;
  Folder folder(const std::string& path) const;

 private:
  explicit Folder(Fd folder) : folder_(std::move(folder)) {}

  Fd folder_;
};

// The small files in which the kernel describes devices, below a root: "/", or a copy of another
// machine's /sys, /proc, /etc and /dev. A file that cannot be read counts as absent. The kernel
// answers at once.
class Sysfs {
 public:
  static constexpr std::size_t max_names = 4096;  // per folder

  explicit Sysfs(const std::filesystem::path& root = "/");

  // Returns the value of an attribute without surrounding blanks. nullopt: unreadable, empty or
  // above max_attribute_bytes.
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> number(const std::string& path) const;
  Folder folder(const std::string& path) const { return Folder(full(path)); }
  // Returns the entries of a folder in natural order, at most max_names; empty if there is no such
  // folder.
  std::vector<std::string> names(const std::string& path) const;
  // Returns the components of a link's target, as in "../../../0000:17:00.0"; empty if it is not a
  // link.
  std::vector<std::string> link(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Returns the path below the root: "/copy/sys/class/net".
  std::string full(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;  // ends with a slash, so paths begin without a slash: "sys/class/net"
};

}  // namespace toprun::fabric
