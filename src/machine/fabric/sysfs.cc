#include "machine/fabric/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::size_t smallest_part = 512;

std::optional<std::string> text_at(int folder, const std::string& path) {
  const Fd file(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return std::nullopt;
  std::array<char, max_attribute_bytes> bytes;
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0) return std::nullopt;
    size += static_cast<std::size_t>(n);
    // An attribute arrives in one read, /proc's tables page by page.
    if (n == 0 || size < smallest_part) break;
  }
  if (size == bytes.size()) return std::nullopt;
  const std::string_view trimmed = trim({bytes.data(), size});
  return trimmed.empty() ? std::nullopt : std::optional(std::string(trimmed));
}

Fd folder_at(int folder, const std::string& path) {
  return Fd(::openat(folder, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// The entries of an open folder, at most Sysfs::max_names.
std::vector<std::string> entries_of(const Fd& folder) {
  std::vector<std::string> names;
  alignas(dirent64) std::array<char, 8192> bytes;
  while (folder) {
    const ssize_t size = ::getdents64(folder.get(), bytes.data(), bytes.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(bytes.data() + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (names.size() == Sysfs::max_names) return names;
      names.emplace_back(name);
    }
  }
  return names;
}

std::vector<std::string> names_at(int folder, const std::string& path) {
  std::vector<std::string> names = entries_of(folder_at(folder, path));
  std::ranges::sort(names, natural_less);
  return names;
}

std::vector<std::string> link_at(int folder, const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(folder, path.c_str(), target.data(), target.size());
  std::vector<std::string> parts;
  if (size <= 0) return parts;
  for (const std::string_view part : split({target.data(), static_cast<std::size_t>(size)}, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::optional<std::int64_t> number_in(const std::optional<std::string>& text) {
  return text ? parse_int(*text) : std::nullopt;
}

}  // namespace

Sysfs::Sysfs(const std::filesystem::path& root) : root_(root.string()) {
  if (!root_.ends_with('/')) root_ += '/';
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Folder::Folder(const std::string& path) : folder_(folder_at(AT_FDCWD, path)) {}

std::optional<std::string> Folder::text(const std::string& path) const {
  return folder_ ? text_at(folder_.get(), path) : std::nullopt;
}

std::optional<std::int64_t> Folder::number(const std::string& path) const {
  return number_in(text(path));
}

std::vector<std::string> Folder::names(const std::string& path) const {
  return folder_ ? names_at(folder_.get(), path) : std::vector<std::string>();
}

std::vector<std::string> Folder::link(const std::string& path) const {
  return folder_ ? link_at(folder_.get(), path) : std::vector<std::string>();
}

std::vector<std::string> Folder::own_names() const {
  return entries_of(folder_);
}

Folder Folder::folder(const std::string& path) const {
  return Folder(folder_ ? folder_at(folder_.get(), path) : Fd());
}

std::optional<std::string> Sysfs::text(const std::string& path) const {
  return text_at(AT_FDCWD, full(path));
}

std::optional<std::int64_t> Sysfs::number(const std::string& path) const {
  return number_in(text(path));
}

std::vector<std::string> Sysfs::names(const std::string& path) const {
  return names_at(AT_FDCWD, full(path));
}

std::vector<std::string> Sysfs::link(const std::string& path) const {
  return link_at(AT_FDCWD, full(path));
}

bool Sysfs::exists(const std::string& path) const {
  return ::access(full(path).c_str(), F_OK) == 0;
}

}  // namespace toprun::fabric
