#include "fabric/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/fd.h"
#include "base/text.h"

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

Folder::Folder(const std::string& path)
    : folder_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

std::optional<std::string> Folder::text(const std::string& name) const {
  return folder_ ? text_at(folder_.get(), name) : std::nullopt;
}

std::optional<std::string> Sysfs::text(const std::string& path) const {
  return text_at(AT_FDCWD, full(path));
}

std::optional<std::int64_t> Sysfs::number(const std::string& path) const {
  const auto value = text(path);
  return value ? parse_int(*value) : std::nullopt;
}

std::vector<std::string> Sysfs::names(const std::string& path) const {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator i(full(path), error), end;
       !error && i != end && found.size() < max_names; i.increment(error)) {
    found.push_back(i->path().filename().string());
  }
  std::ranges::sort(found, natural_less);
  return found;
}

std::vector<std::string> Sysfs::link(const std::string& path) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(full(path), error);
  std::vector<std::string> parts;
  for (const auto& part : target) parts.push_back(part.string());
  return parts;
}

bool Sysfs::exists(const std::string& path) const {
  return ::access(full(path).c_str(), F_OK) == 0;
}

}  // namespace toprun::fabric
