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

// A whole number from 0 to 2⁶⁴−1 without a sign.
std::optional<std::uint64_t> parse_count(std::string_view text);

// One folder of small files, held open: finding each by its whole path costs as much as reading it.
// What is asked of one that is not there is absent. Paths are relative to it.
class Folder {
 public:
  explicit Folder(const std::string& path);
  explicit operator bool() const { return static_cast<bool>(folder_); }  // it is there
  // As Sysfs::text(), number(), names() and link().
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> number(const std::string& path) const;
  std::vector<std::string> names(const std::string& path) const;
  std::vector<std::string> link(const std::string& path) const;
  // Its own entries, in no order; asked for once.
  std::vector<std::string> own_names() const;
  Folder folder(const std::string& path) const;

 private:
  explicit Folder(Fd folder) : folder_(std::move(folder)) {}

  Fd folder_;
};

// The small files by which the kernel describes devices, below a root: "/", or a copy of another
// machine's /sys, /proc, /etc and /dev. Whatever cannot be read is absent; nothing here waits.
class Sysfs {
 public:
  static constexpr std::size_t max_names = 4096;  // of a folder

  explicit Sysfs(const std::filesystem::path& root = "/");

  // An attribute without blanks around it. nullopt: unreadable, empty or above max_attribute_bytes.
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> number(const std::string& path) const;
  Folder folder(const std::string& path) const { return Folder(full(path)); }
  // The entries of a folder in natural order, max_names at most; empty if there is none.
  std::vector<std::string> names(const std::string& path) const;
  // The components of a link's target, as "../../../0000:17:00.0" has them; empty if it is not a
  // link.
  std::vector<std::string> link(const std::string& path) const;
  bool exists(const std::string& path) const;

 private:
  std::string full(const std::string& path) const { return root_ + path; }

  std::string root_;  // ends with a slash; paths begin without one: "sys/class/net"
};

}  // namespace toprun::fabric
