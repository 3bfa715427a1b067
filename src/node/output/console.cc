#include "node/output/console.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/os/console.h"
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
           {},
           false},
      err_{descriptors.err,
           Writer::create(io, observer(), limits, shared_ ? nullptr : line_state(descriptors.err)),
           {},
           false} {}

Terminal::~Terminal() {
  out_.writer->abandon();
  err_.writer->abandon();
}

Writer::Observer Terminal::observer() {
  return {[this] { on_room(); }, [this](int fd, int code) { failed(fd, code); }};
}

void Terminal::write(bool is_err, std::string text) {
  last_output_ = SteadyClock::now();
  Stream& target = stream(is_err);
  const bool begins_line = std::exchange(target.begins_line, false);
  target.writer->write(descriptor(is_err), std::move(text), begins_line);
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
    if (std::exchange(each->cursor.owner, Cursor::no_owner) == Cursor::no_owner) continue;
    if (descriptors_.shared_with_others || ::isatty(each->fd)) {
      each->writer->end_line(each->fd);
    } else {
      each->begins_line = true;
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

CopyingConsole::CopyingConsole(boost::asio::io_context& io, std::shared_ptr<Console> shown, Fd file,
                               std::string path)
    : shown_(std::move(shown)),
      file_(file.release()),
      path_(std::move(path)),
      writer_(Writer::create(io,
                             {[this] { notify(); },
                              [this](int, int code) {
                                say(fmt::format("cannot write {}: {}; the job goes on", path_,
                                                errno_text(code)));
                              }},
                             {}, &unfinished_in_copy())) {
  shown_->listen(this, [this] { notify(); });
}

CopyingConsole::~CopyingConsole() {
  shown_->ignore(this);
  writer_->close(file_);
  writer_->abandon();
}

void CopyingConsole::write(bool is_err, std::string text) {
  if (!text.empty()) {
    // If both streams are one terminal, that console has already added a newline.
    const bool breaks = unfinished_ && *unfinished_ != is_err && text.front() != '\n';
    unfinished_ = ends_line(text.back()) ? std::nullopt : std::optional(is_err);
    ends_within_line_ = text.back() != '\n';
    writer_->write(file_, breaks ? '\n' + text : text);
  }
  shown_->write(is_err, std::move(text));
}

void CopyingConsole::end_line() {
  // Once only: a queued line end keeps the console from becoming idle.
  if (std::exchange(ends_within_line_, false)) writer_->end_line(file_);
  unfinished_.reset();
  shown_->end_line();
}

bool CopyingConsole::idle() {
  const bool shown = shown_->idle();  // ask both, so that both report when they become idle
  return writer_->idle() && shown;
}

class OwnLines::Carrier : public LogSink {
 public:
  Carrier(std::shared_ptr<Writer> shown, int shown_fd, std::shared_ptr<Writer> copy)
      : shown_{std::move(shown)}, copy_{std::move(copy)}, shown_fd_(shown_fd) {}

  void write(int fd, std::string text) override {
    if (fd == STDERR_FILENO) {
      put(shown_, shown_fd_, std::move(text));
    } else {
      put(copy_, fd, std::move(text));
    }
  }

  bool flush(std::chrono::milliseconds limit) override {
    const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
    const bool shown = shown_.writer->flush(deadline);
    return copy_.writer->flush(deadline) && shown;
  }

  Writer& copy() { return *copy_.writer; }

 private:
  struct Target {
    std::shared_ptr<Writer> writer;
    std::atomic<std::size_t> dropped{0};
  };

  static void put(Target& target, int fd, std::string text) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const std::size_t dropped = target.dropped.exchange(0);
    if (dropped > 0) {
      text.insert(0, fmt::format("toprun: {} lines of toprun's own are missing here\n", dropped));
    }
    if (target.writer->offer(fd, std::move(text), most_waiting_bytes)) return;
    target.dropped += dropped + lines;
  }

  Target shown_;
  Target copy_;
  const int shown_fd_;
};

OwnLines::OwnLines(boost::asio::io_context& io, Terminal& terminal)
    : terminal_(terminal),
      carrier_(std::make_shared<Carrier>(terminal.writer(true), terminal.descriptor(true),
                                         Writer::create(io, {[this] { check_copy(); }, {}},
                                                        Writer::Limits{}, &unfinished_in_copy()))) {
  set_log_sink(carrier_);
}

OwnLines::~OwnLines() {
  if (!given_up_) carrier_->flush(last_words_limit);
  set_log_sink(nullptr);
  carrier_->copy().abandon();
}

void OwnLines::when_written(std::function<void()> written) {
  terminal_.when_written([this, written = std::move(written)]() mutable {
    written_ = std::move(written);
    check_copy();
  });
}

void OwnLines::check_copy() {
  if (written_ && carrier_->copy().idle()) std::exchange(written_, {})();
}

}  // namespace toprun::output
