#include "plan/kept_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/console.h"
#include "base/fd.h"
#include "base/files.h"
#include "hosts/address.h"
#include "plan/orders.h"
#include "scheduler/login/login.h"

namespace toprun::plan {
namespace {

constexpr mode_t for_me_alone = 0700;
constexpr mode_t file_for_me_alone = 0600;

std::string where(const std::string& path) {
  return fmt::format("{} on host {}", path, hosts::host_name());
}

// Makes the folder, or finds that it is there and nobody else's.
Result<void> make_own_folder(const std::string& path) {
  struct stat status {};
  if (::mkdir(path.c_str(), for_me_alone) == 0) return {};
  if (errno != EEXIST) return fail_errno("cannot make " + where(path));
  const bool is_own = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  if (is_own) return {};
  return fail(where(path), "it is another user's", "remove it");
}

Result<void> redirect(const std::string& output) {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd file(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                       file_for_me_alone));
  if (file.get() < 0) return fail_errno("cannot make " + where(output));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
  return {};
}

}  // namespace

std::string kept_runs_folder(std::string_view temporary, std::string_view uid) {
  return fmt::format("{}/toprun-runs-{}", temporary, uid);
}

Result<std::string> keep_running(const std::string& run, Environment& environment) {
  auto secret = receive_secret();
  if (!secret) return std::unexpected(std::move(secret.error()));
  const std::string all = kept_runs_folder(environment.non_empty("TMPDIR").value_or("/tmp"),
                                           fmt::to_string(::geteuid()));
  const std::string folder = fmt::format("{}/{}", all, run);
  for (const std::string& path : {all, folder}) {
    if (auto made = make_own_folder(path); !made) return std::unexpected(std::move(made.error()));
  }
  environment.set("TOPRUN_SECRET", *secret);
  if (!environment.has("TOPRUN_REPORT")) {
    environment.set("TOPRUN_REPORT", fmt::format("{}/{}", folder, kept_report));
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid > 0) {
    auto written =
        replace_file(fmt::format("{}/{}", folder, kept_pid), fmt::format("{}\n", pid));
    if (!written) return std::unexpected(std::move(written.error()));
    say_block(scheduler::login_kept);
    say_block(scheduler::login_ended(0));
    ::_exit(0);
  }
  ::setsid();
  if (const auto done = redirect(fmt::format("{}/{}", folder, kept_output)); !done) {
    keep_exit_code(folder, exit_failure);
    ::_exit(exit_failure);
  }
  return folder;
}

void keep_exit_code(const std::string& folder, int exit_code) {
  const auto written = replace_file(fmt::format("{}/{}", folder, kept_code),
                                    fmt::format("{}\n", exit_code));
  if (!written) say(written.error().line());
}

}  // namespace toprun::plan
