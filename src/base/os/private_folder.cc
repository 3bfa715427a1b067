#include "base/os/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

namespace toprun {
namespace {

constexpr int most_tries = 100;
constexpr mode_t private_mode = 0700;
constexpr mode_t file_mode = 0666;  // minus the umask

}  // namespace

std::string random_name(std::size_t letters) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string name(letters, '\0');
  if (::getrandom(name.data(), letters, 0) != static_cast<ssize_t>(letters)) return {};
  for (char& c : name) c = alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  return name;
}

std::expected<std::string, int> new_private_folder(const std::string& parent,
                                                   const std::string& name) {
  for (int i = 0; i < most_tries; ++i) {
    const std::string path = fmt::format("{}/{}_{}", parent, name, random_name());
    if (::mkdir(path.c_str(), private_mode) == 0) return path;
    if (errno != EEXIST) return std::unexpected(errno);
  }
  return std::unexpected(EEXIST);
}

std::string new_temporary_folder(const Environment& environment, const std::string& name) {
  for (const std::string& parent : {environment.non_empty("TMPDIR").value_or("/tmp"),
                                    std::string("/tmp"), std::string("/dev/shm")}) {
    std::error_code failed;
    const std::string absolute = std::filesystem::absolute(parent, failed).string();
    if (auto path = new_private_folder(absolute, name)) return *path;
  }
  return {};
}

Fd open_without_links(const std::string& path) {
  const std::filesystem::path file = path;
  const Fd folder(
      ::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return {};
  return Fd(::openat(folder.get(), file.filename().c_str(),
                     O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
}

}  // namespace toprun
