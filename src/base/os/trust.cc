#include "base/os/trust.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <deque>
#include <string_view>

#include "base/text/text.h"

namespace toprun {
namespace {

constexpr int most_tries = 100;
constexpr mode_t private_mode = 0700;
constexpr mode_t file_mode = 0666;  // minus the umask

namespace fs = std::filesystem;

constexpr int most_links = 40;  // the kernel's limit

bool is_foreign(const struct stat& status, uid_t me) {
  return status.st_uid != me && status.st_uid != 0;
}

std::string whose(const struct stat& status) {
  return fmt::format("it belongs to user {}, neither to you nor to root", status.st_uid);
}

// Every user may rename and remove the files in this folder.
bool is_open_to_all(const struct stat& folder) {
  return (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0;
}

std::deque<fs::path> parts_of(const fs::path& path) {
  const fs::path relative = path.relative_path();
  return {relative.begin(), relative.end()};
}

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

std::string distrust(const struct stat& status, uid_t me) {
  if (is_foreign(status, me)) return whose(status);
  return (status.st_mode & S_IWOTH) != 0 ? "every user may write to it" : "";
}

std::string distrust_secret(const struct stat& status, uid_t me) {
  if (auto why = distrust(status, me); !why.empty()) return why;
  const bool is_closed = status.st_uid != me || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return is_closed ? "" : "others may read it";
}

Result<fs::path> follow_own_links(const fs::path& path, uid_t me) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return fail(path.string(), error.message());
  std::deque<fs::path> rest = parts_of(whole);
  fs::path at = "/";
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part == "..") at = at.parent_path();
    if (part.empty() || part == "." || part == "..") continue;
    struct stat status {};
    const fs::path next = at / part;
    const bool is_link = ::lstat(next.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
    if (!is_link) {
      at = next;
      continue;
    }
    const std::string what = "the link " + printable(next.native());
    if (is_foreign(status, me)) return fail(what, whose(status), "name another path, or remove it");
    if (++links > most_links) return fail(what, "too many symbolic links in a row");
    const fs::path target = fs::read_symlink(next, error);
    if (error) return fail(what, error.message());
    // The target of a descriptor in /proc has no path.
    if (!fs::exists(target.is_absolute() ? target : at / target, error) &&
        fs::exists(next, error)) {
      at = next;
      continue;
    }
    if (target.is_absolute()) at = "/";
    const std::deque<fs::path> inserted = parts_of(target);
    rest.insert(rest.begin(), inserted.begin(), inserted.end());
  }
  return at;
}

Result<void> check_ours(const fs::path& base, const fs::path& path, uid_t me) {
  const auto above = TRY(follow_own_links(base, me));
  struct stat status {};
  for (fs::path folder = above;; folder = folder.parent_path()) {
    if (::stat(folder.c_str(), &status) == 0 && is_open_to_all(status)) {
      return fail(printable(folder.native()), "every user may rename files in this folder");
    }
    if (folder == folder.parent_path()) break;
  }
  fs::path at = above;
  for (const fs::path& part : path.lexically_relative(base)) {
    at /= part;
    if (::lstat(at.c_str(), &status) != 0) break;
    if (S_ISLNK(status.st_mode)) status.st_mode &= ~mode_t{S_IWOTH};  // all links have this bit
    std::string why = distrust(status, me);
    if (why.empty() && S_ISLNK(status.st_mode) && ::stat(at.c_str(), &status) == 0) {
      why = distrust(status, me);
    }
    if (!why.empty()) return fail(printable(at.native()), std::move(why));
  }
  return {};
}

}  // namespace toprun
