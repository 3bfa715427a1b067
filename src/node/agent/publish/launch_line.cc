#include "node/agent/publish/launch_line.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/os/style.h"
#include "observe/report/report.h"

namespace toprun::publish {
using std::chrono::milliseconds;
namespace {

constexpr std::chrono::milliseconds silence{2'000};

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

constexpr milliseconds first_after{500};  // a quick launch shows nothing
constexpr milliseconds between_draws{250};

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

LaunchLine::LaunchLine(boost::asio::io_context& io, const plan::Job& job,
                       std::shared_ptr<output::Terminal> terminal,
                       std::function<std::optional<model::Launch>()> launch)
    : terminal_(std::move(terminal)),
      launch_(std::move(launch)),
      has_terminal_(shows_launches(job)),
      tells_(job.environment.has(launch_variable)),
      timer_(io) {}

void LaunchLine::changed(bool is_launching) {
  if ((!has_terminal_ && !tells_) || is_launching == std::exchange(is_launching_, is_launching))
    return;
  if (is_launching) {
    began_ = SteadyClock::now();
    return draw_later(first_after);
  }
  timer_.cancel();
  show("");
}

void LaunchLine::show(std::string line) {
  if (line.empty() && !is_shown_) return;
  is_shown_ = !line.empty();
  if (tells_) return tell(line);
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
  const std::size_t columns = tells_ ? 0 : terminal_size(STDERR_FILENO).columns;
  show(report::launch_line(*launch, columns > 0 ? columns - 1 : 0));
}

// Not into a line of a rank's.
void LaunchLine::tell(const std::string& line) {
  if (line == reported_ || terminal_->cursor(true).owner != output::Cursor::no_owner) return;
  reported_ = line;
  terminal_->writer(true)->write(terminal_->descriptor(true),
                                 fmt::format("{}{}\n", launch_mark, line));
}

bool LaunchLine::may_draw(const model::Launch& launch) const {
  const bool others_are_awaited = launch.joined > 0 || launch.awaited;
  return (tells_ || in_foreground()) &&
         leaves_room(terminal_->last_output(), began_, others_are_awaited);
}

}  // namespace toprun::publish
