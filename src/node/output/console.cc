#include "node/output/console.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/os/console.h"
#include "base/os/line_state.h"
#include "base/os/timer.h"
#include "base/text/error.h"

namespace toprun::output {
namespace {

bool same_file(int a, int b) {
  struct stat x {};
  struct stat y {};
  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

std::atomic<bool>* line_state(int err) {
  return err == STDERR_FILENO ? &unfinished_on_stderr() : nullptr;
}

}  // namespace

Terminal::Terminal(boost::asio::io_context& io, ConsoleDescriptors descriptors, bool colours)
    : descriptors_(descriptors),
      colours_(colours),
      shared_(same_file(descriptors.out, descriptors.err)),
      out_{descriptors.out,
           Writer::create(io, observer(), limits, shared_ ? line_state(descriptors.err) : nullptr),
           {}},
      err_{descriptors.err,
           Writer::create(io, observer(), limits, shared_ ? nullptr : line_state(descriptors.err)),
           {}} {}

Terminal::~Terminal() {
  out_.writer->abandon();
  err_.writer->abandon();
}

Writer::Observer Terminal::observer() {
  return {[this] { on_room(); }, [this](int fd, int code) { failed(fd, code); }};
}

void Terminal::write(bool is_err, std::string text) {
  last_output_ = SteadyClock::now();
  stream(is_err).writer->write(descriptor(is_err), std::move(text));
}

bool Terminal::room(bool is_err) const {
  return stream(is_err).writer->room();
}

bool Terminal::idle() {
  const bool out_idle = out_.writer->idle();  // ask both, so that both report when they become idle
  return err_.writer->idle() && out_idle;
}

bool Terminal::shows_colours(bool is_err) const {
  return colours_ && terminal(is_err) != no_terminal;
}

int Terminal::terminal(bool is_err) const {
  const int fd = descriptor(is_err);
  return ::isatty(fd) == 1 ? fd : no_terminal;
}

void Terminal::end_line() {
  for (Stream* const each : {&out_, &err_}) {
    if (std::exchange(each->cursor.owner, Cursor::no_owner) != Cursor::no_owner &&
        ::isatty(each->fd)) {
      each->writer->write(each->fd, "\n");
    }
  }
}

void Terminal::show(const std::string& node, bool is_err, std::string lines,
                    std::function<void()> taken) {
  const auto known = nodes_.find(node);
  const int source =
      known != nodes_.end() ? known->second : nodes_.emplace(node, new_source()).first->second;
  write(is_err, Display(source, "", cursor(is_err)).compose(std::move(lines)));
  if (room(is_err)) return taken();
  waiting_.push_back({is_err, std::move(taken)});
}

void Terminal::show_below(std::string line) {
  if (terminal(true) == no_terminal) return;
  if (cursor(true).owner != Cursor::no_owner) line.clear();
  stream(true).writer->show_below(descriptors_.err, std::move(line));
}

void Terminal::when_written(std::function<void()> written) {
  if (idle()) return written();
  written_.push_back(std::move(written));
}

void Terminal::on_room() {
  for (Waiting& each : std::exchange(waiting_, {})) {
    if (room(each.is_err)) {
      each.taken();
    } else {
      waiting_.push_back(std::move(each));
    }
  }
  if (!written_.empty() && idle()) {
    for (const auto& written : std::exchange(written_, {})) written();
  }
  notify();
}

void Terminal::failed(int fd, int code) {
  say(fmt::format(
      "cannot write to {}: {}; toprun drops what ranks print there, and the job goes on",
      fd == descriptors_.out ? "standard output" : "standard error", errno_text(code)));
}

}  // namespace toprun::output
