#include "node/worker/spawn/view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/process/child.h"

namespace toprun::spawn {
namespace {

// All that the child of a fork needs, since it must not allocate.
struct Plan {
  std::string shown, path;
  std::string users, groups;  // maps of one number each
  unsigned long flags = 0;    // of the mount that has `shown`, which a user must not take away
};

// The step at which the child failed, and its errno.
enum class Step : int { none, user_namespace, namespaces, privacy, mount, read_only, root };
struct Outcome {
  Step step = Step::none;
  int code = 0;
};

unsigned long mount_flags(const std::string& path) {
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) < 0) return 0;
  unsigned long flags = 0;
  if ((system.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((system.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((system.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((system.f_flag & ST_NODIRATIME) != 0) flags |= MS_NODIRATIME;
  if ((system.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  return flags;
}

bool write_to(const char* path, std::string_view text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && write_all(file.get(), text);
}

bool unshare_with_user(const Plan& plan) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return false;
  return write_to("/proc/self/uid_map", plan.users) && write_to("/proc/self/setgroups", "deny") &&
         write_to("/proc/self/gid_map", plan.groups);
}

// Which file a path leads to.
struct File {
  dev_t device = 0;
  ino_t inode = 0;

  static File at(const char* path) {
    struct stat status {};
    ::stat(path, &status);
    return {status.st_dev, status.st_ino};
  }
  bool operator==(const File&) const = default;
};

// What is mounted on the host later is seen there too, and nothing the other way round.
Outcome mount_inside(const Plan& plan) {
  const File root = File::at("/");
  const File shown = File::at(plan.shown.c_str());
  const bool is_root = ::unshare(CLONE_NEWNS) == 0;
  if (!is_root && !unshare_with_user(plan)) return {Step::user_namespace, errno};
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) return {Step::privacy, errno};
  const char* const path = plan.path.c_str();
  if (::mount(plan.shown.c_str(), path, nullptr, MS_BIND, nullptr) < 0) return {Step::mount, errno};
  const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | plan.flags;
  if (::mount("none", path, nullptr, flags, nullptr) < 0) return {Step::read_only, errno};
  // A process that enters a mount namespace has its root, not that of a chroot, and sees other
  // paths.
  const int own = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (::setns(own, CLONE_NEWNS) < 0) return {Step::namespaces, errno};
  const bool is_there = root == File::at("/") && shown == File::at(path);
  return is_there ? Outcome{} : Outcome{Step::root, 0};
}

[[noreturn]] void hold(const Plan& plan, int outcome_fd, int release_fd) {
  const Outcome outcome = mount_inside(plan);
  [[maybe_unused]] const ssize_t written = ::write(outcome_fd, &outcome, sizeof outcome);
  char byte;
  while (::read(release_fd, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

std::unexpected<Error> explain(const Outcome& outcome, const std::string& path) {
  if (outcome.step == Step::root) {
    return fail("cannot make a mount that only the ranks see",
                "toprun runs in a chroot, and such a mount would move the ranks out of the chroot");
  }
  if (outcome.step == Step::user_namespace || outcome.code == EPERM || outcome.code == EACCES) {
    return fail("cannot make a mount that only the ranks see", errno_text(outcome.code),
                "such a mount needs root or user namespaces (sysctl user.max_user_namespaces)");
  }
  return fail_errno(outcome.code, "cannot mount over " + path);
}

Fd open_namespace(pid_t pid, const char* kind) {
  return Fd(::open(fmt::format("/proc/{}/ns/{}", pid, kind).c_str(), O_RDONLY | O_CLOEXEC));
}

bool is_our_own(const Fd& space, const char* kind) {
  std::error_code failed;
  const auto ours = std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", kind), failed);
  const auto other =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", space.get()), failed);
  return ours == other;
}

}  // namespace

Result<std::shared_ptr<const View>> View::make(const std::string& shown, const std::string& path) {
  auto outcome_pipe = TRY(process::make_pipe());
  auto release_pipe = TRY(process::make_pipe());
  std::error_code failed;
  const Plan plan{shown, path, fmt::format("{0} {0} 1", ::geteuid()),
                  fmt::format("{0} {0} 1", ::getegid()), mount_flags(shown)};
  const pid_t pid = process::fork_with_signals_blocked();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) {
    ::close(release_pipe.write.get());
    ::close(outcome_pipe.read.get());
    hold(plan, outcome_pipe.write.get(), release_pipe.read.get());
  }
  outcome_pipe.write.reset();
  Outcome outcome{Step::namespaces, EIO};
  while (::read(outcome_pipe.read.get(), &outcome, sizeof outcome) < 0 && errno == EINTR) {
  }
  std::shared_ptr<View> view(new View);
  view->user_ = open_namespace(pid, "user");
  view->mounts_ = open_namespace(pid, "mnt");
  view->current_ = std::filesystem::current_path(failed).string();
  if (is_our_own(view->user_, "user")) view->user_.reset();
  release_pipe.write.reset();
  process::await_end(pid);
  if (outcome.step != Step::none) return explain(outcome, path);
  if (!view->mounts_) return fail_errno("cannot open a mount namespace");
  return view;
}

bool View::enter() const {
  if (user_ && ::setns(user_.get(), CLONE_NEWUSER) < 0) return false;
  if (::setns(mounts_.get(), CLONE_NEWNS) < 0) return false;
  // It may have been removed meanwhile, and then no program needs it.
  return current_.empty() || ::chdir(current_.c_str()) == 0 || errno == ENOENT;
}

}  // namespace toprun::spawn
