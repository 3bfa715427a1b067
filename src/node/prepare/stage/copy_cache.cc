#include "node/prepare/stage/copy_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "base/os/trust.h"
#include "node/prepare/stage/manifest.h"

namespace toprun::stage {
namespace {

constexpr mode_t own_mode = 0700;
constexpr mode_t of_others = 0077;
constexpr std::size_t key_bytes = 8;
constexpr const char* elsewhere = "choose another folder with --stage-to";

// Why a folder is not this user's own alone; empty if it is.
std::string why_not_own(int folder) {
  struct stat status {};
  if (::fstat(folder, &status) < 0) return errno_text(errno);
  if (status.st_uid != ::geteuid()) return fmt::format("it belongs to user {}", status.st_uid);
  if ((status.st_mode & of_others) != 0) return "others may enter it";
  return {};
}

// Why another user could put a folder of his own instead of ours; empty if none can.
std::string why_not_safe(int parent) {
  struct stat status {};
  if (::fstat(parent, &status) < 0) return errno_text(errno);
  const bool is_sticky = (status.st_mode & S_ISVTX) != 0;  // there only its owner renames a folder
  if (is_sticky) status.st_mode &= ~static_cast<mode_t>(S_IWOTH);
  return distrust(status, ::geteuid());
}

Fd open_folder(int parent, const char* name) {
  return Fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<Fd> make_folder(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), own_mode) < 0 && errno != EEXIST) {
    return fail_errno("cannot make " + path, elsewhere);
  }
  Fd folder = open_folder(parent, name.c_str());
  if (!folder) return fail_errno("cannot use " + path, elsewhere);
  if (const std::string why = why_not_own(folder.get()); !why.empty()) {
    return fail("cannot use " + path, why, elsewhere);
  }
  return folder;
}

}  // namespace

Result<CopyCache> CopyCache::open(const std::string& base) {
  std::error_code failed;
  const std::string whole = std::filesystem::canonical(base, failed).string();
  if (failed) return fail("cannot use " + base, failed.message(), elsewhere);
  const Fd parent(::open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return fail_errno("cannot use " + base, elsewhere);
  if (const std::string why = why_not_safe(parent.get()); !why.empty()) {
    return fail("cannot use " + base, why, elsewhere);
  }
  struct statvfs system {};
  if (::fstatvfs(parent.get(), &system) < 0) return fail_errno("cannot use " + base, elsewhere);
  if ((system.f_flag & ST_NOEXEC) != 0) {
    return fail("cannot use " + base, "its file system is mounted noexec", elsewhere);
  }
  const std::string name = fmt::format("toprun-stage-{}", ::geteuid());
  const std::string path = whole + (whole == "/" ? "" : "/") + name;
  auto folder = TRY(make_folder(parent.get(), name, path));
  return CopyCache(std::move(folder), path);
}

Fd CopyCache::open_own(const std::string& name) const {
  Fd folder = open_folder(folder_.get(), name.c_str());
  if (folder && !why_not_own(folder.get()).empty()) return {};
  return folder;
}

Result<Fd> CopyCache::make_own(const std::string& name) const {
  return make_folder(folder_.get(), name, path_ + "/" + name);
}

Result<Fd> CopyCache::try_lock(const std::string& key) const {
  const std::string name = key + ".lock";
  Fd lock(::openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("cannot make " + path_ + "/" + name, elsewhere);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return fail_errno("cannot lock " + path_ + "/" + name, elsewhere);
  return Fd();
}

void CopyCache::remove_unused(const std::string& name) const {
  const Fd folder = open_own(name);
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) < 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_ + "/" + name, ignored);
}

std::string key_of(const std::string& environment) {
  const Hash hash = hash_of(environment);
  return hex(std::span(hash).first(key_bytes));
}

}  // namespace toprun::stage
