#include "machine/container/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace toprun::container {
namespace {

using std::chrono::steady_clock;

constexpr int touches = 12;  // in the time after which a file counts as left behind

bool has_no_locks(int error) {
  return error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP || error == EINVAL;
}

bool untouched(const struct stat& before, const struct stat& now) {
  return before.st_ino == now.st_ino && before.st_mtim.tv_sec == now.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

}  // namespace

FileLock::FileLock(std::filesystem::path file, Flock flock,
                   std::chrono::milliseconds abandoned_after)
    : file_(std::move(file)),
      created_(file_.native() + ".held"),
      flock_(flock),
      abandoned_after_(abandoned_after) {}

FileLock::~FileLock() {
  if (!toucher_) return;
  toucher_.reset();
  ::unlink(created_.c_str());
}

Result<bool> FileLock::try_lock() {
  if (toucher_) return true;
  if (!locked_) {
    locked_ = Fd(::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (!locked_) return fail_errno("cannot open " + file_.native());
  if (flock_(locked_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  if (has_no_locks(errno)) return try_create();
  return fail_errno("cannot lock " + file_.native());
}

Result<bool> FileLock::try_create() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  if (const Fd ours(::open(created_.c_str(), flags, 0600)); ours) {
    keep_touching();
    return true;
  }
  if (errno != EEXIST) return fail_errno("cannot make " + created_.native());
  if (was_left()) ::unlink(created_.c_str());  // the next try may create it
  return false;
}

bool FileLock::was_left() {
  struct stat now {};
  if (::stat(created_.c_str(), &now) != 0) return false;
  if (!seen_since_ || !untouched(others_, now)) {
    others_ = now;
    seen_since_ = steady_clock::now();
    return false;
  }
  return steady_clock::now() - *seen_since_ > abandoned_after_;
}

void FileLock::keep_touching() {
  toucher_.emplace([path = created_, pause = abandoned_after_ / touches](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      stopped.wait_for(lock, stop, pause, [] { return false; });
      if (!stop.stop_requested()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    }
  });
}

}  // namespace toprun::container
