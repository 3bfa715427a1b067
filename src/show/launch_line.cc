#include "show/launch_line.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/look.h"

namespace toprun::show {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds first_after{500};  // a quick launch shows nothing
constexpr milliseconds between_draws{250};
// The ranks' output is left alone: the line comes back where they have been silent for so long, and
// some have come to the store, so that others are awaited.
constexpr milliseconds silence{2'000};

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

// The keeper alone is in the terminal's foreground group.
bool in_foreground() {
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);
  return group > 0 && (group == ::getpgrp() || group == ::getpgid(::getppid()));
}

}  // namespace

LaunchLine::LaunchLine(boost::asio::io_context& io, const plan::Job& job,
                       std::shared_ptr<output::Terminal> terminal,
                       std::function<std::optional<view::Launch>()> launch)
    : terminal_(std::move(terminal)),
      launch_(std::move(launch)),
      has_terminal_(job.options.progress && ::isatty(STDERR_FILENO) == 1 &&
                    !is_pipe(STDOUT_FILENO) && job.environment.get("TERM") != "dumb"),
      timer_(io) {}

void LaunchLine::changed(bool is_launching) {
  if (!has_terminal_ || is_launching == std::exchange(is_launching_, is_launching)) return;
  if (is_launching) {
    began_ = steady_clock::now();
    return draw_later(first_after);
  }
  timer_.cancel();
  show("");
}

void LaunchLine::show(std::string line) {
  if (line.empty() && !is_shown_) return;
  is_shown_ = !line.empty();
  terminal_->show_below(std::move(line));
}

void LaunchLine::draw_later(milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && is_launching_) draw();
  });
}

void LaunchLine::draw() {
  draw_later(between_draws);
  const auto launch = launch_();
  if (!launch || !may_draw(*launch)) return show("");
  const std::size_t columns = terminal_size(STDERR_FILENO).columns;
  show(view::launch_line(*launch, columns > 0 ? columns - 1 : 0));
}

bool LaunchLine::may_draw(const view::Launch& launch) const {
  if (!in_foreground()) return false;
  const auto output = terminal_->last_output();
  if (!output || *output < began_) return true;
  const bool some_came = launch.joined > 0 || launch.awaited;
  return some_came && steady_clock::now() - *output >= silence;
}

}  // namespace toprun::show
