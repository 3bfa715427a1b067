#include "node/agent/publish/launch_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/os/style.h"
#include "base/os/timer.h"

namespace toprun::publish {

namespace {

constexpr std::chrono::milliseconds silence{2'000};

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

}  // namespace

bool shows_launches(const plan::Job& job) {
  return job.options.progress && ::isatty(STDERR_FILENO) == 1 && !is_pipe(STDOUT_FILENO) &&
         job.environment.get("TERM") != "dumb";
}

bool in_foreground() {
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);
  return group > 0 && (group == ::getpgrp() || group == ::getpgid(::getppid()));
}

bool leaves_room(std::optional<SteadyTime> last_output, SteadyTime began, bool others_are_awaited) {
  if (!last_output || *last_output < began) return true;
  return others_are_awaited && SteadyClock::now() - *last_output >= silence;
}

std::optional<std::string> take_report(std::string& text) {
  std::optional<std::string> reported;
  for (std::size_t at = 0; (at = text.find(launch_mark, at)) != std::string::npos;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    reported = text.substr(at + launch_mark.size(), end - at - launch_mark.size());
    text.erase(at, end + 1 - at);
  }
  return reported;
}

std::string ToldLaunch::line(std::string reported, std::optional<SteadyTime> last_output) {
  if (reported.empty()) {
    began_.reset();
    return reported;
  }
  if (!began_) began_ = SteadyClock::now();
  // The root tells nothing where its own ranks say more.
  if (!in_foreground() || !leaves_room(last_output, *began_, true)) return {};
  const std::size_t columns = terminal_size(STDERR_FILENO).columns;
  return both_ends(reported, columns > 0 ? columns - 1 : 0);
}

}  // namespace toprun::publish
