#include "base/os/console.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun {
namespace {

int copy_fd = -1;
std::atomic<bool> own_unfinished{false};
std::atomic<bool>* unfinished = &own_unfinished;
std::mutex voice_mutex;
std::shared_ptr<LogSink> chosen_sink;

// The sink may be replaced while it is in use.
std::shared_ptr<LogSink> sink() {
  const std::lock_guard lock(voice_mutex);
  return chosen_sink;
}

}  // namespace

int print(std::string_view text) {
  return print_bytes(printable_lines(text));
}

int print_bytes(std::string_view bytes) {
  if (write_all(STDOUT_FILENO, bytes)) return 0;
  if (errno == EPIPE) return 128 + SIGPIPE;  // the reader, such as head, has enough
  say("cannot write to stdout: " + errno_text(errno));
  return exit_failure;
}

int give_up(const Error& error) {
  say(error.line());
  return error->exit_code;
}

// All messages of toprun itself go through these two functions, which make them harmless to a
// terminal: names, reasons and refusals come from other hosts, files and strangers. The ranks'
// output goes through node/output/console.h, byte for byte.
void say(std::string_view text) {
  say_block(fmt::format("toprun: {}\n", printable(text)));
}

void say_block(std::string_view text) {
  const std::string shown = printable_lines(text);
  const auto other = sink();
  for (const int fd : {STDERR_FILENO, copy_fd}) {
    if (fd < 0) continue;
    if (other) {
      other->write(fd, shown);
      continue;
    }
    std::atomic<bool>& is_unfinished = fd == STDERR_FILENO ? *unfinished : unfinished_in_copy();
    write_all(fd, is_unfinished.exchange(false) ? "\n" + shown : shown);
  }
}

std::atomic<bool>& unfinished_on_stderr() {
  return *unfinished;
}

std::atomic<bool>& unfinished_in_copy() {
  static std::atomic<bool> in_copy{false};
  return in_copy;
}

void keep_unfinished_on_stderr(std::atomic<bool>& shared) {
  unfinished = &shared;
}

void say_also_to(int fd) {
  copy_fd = fd;
}

void set_log_sink(std::shared_ptr<LogSink> sink) {
  std::unique_lock lock(voice_mutex);
  const auto before = std::exchange(chosen_sink, std::move(sink));
  lock.unlock();  // the destructor of `before` runs without the lock
}

bool flush_said() {
  const auto other = sink();
  return !other || other->flush(last_words_limit);
}

}  // namespace toprun
