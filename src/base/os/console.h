#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun {

// Prints text for people to stdout, without terminal sequences (printable_lines() in
// base/text/text.h). Returns the exit code: 0, or 141 (128 + SIGPIPE) if the reader has closed the
// pipe. On another error, prints the reason on stderr and returns 1.
int print(std::string_view text);

// Like print(), but prints the bytes unchanged. Use print_bytes() for output that programs read,
// and for the output of ranks.
int print_bytes(std::string_view bytes);

// Prints the error as one line on stderr and returns its exit code.
int give_up(const Error& error);

// From now on, copies all output of say() and say_block() to this descriptor. The descriptor must
// be open for appending, because several processes write to the file. With -1, copying ends. Call
// this before other threads call say().
void say_also_to(int fd);

// Whether the last line on stderr has no line end yet, like a rank's progress bar. If so, toprun
// begins its next message on a new line. The copy that say_also_to() writes has its own flag,
// unfinished_in_copy(). Other code that writes to stderr or to the copy must update the flag of the
// output to which it writes. Any thread may set the flag.
std::atomic<bool>& unfinished_on_stderr();
std::atomic<bool>& unfinished_in_copy();

// From now on, stores the flag of unfinished_on_stderr() in `shared`. `shared` has to exist until
// this process ends. It is memory that this process shares with another process, which continues to
// write to stderr after this process has died.
void keep_unfinished_on_stderr(std::atomic<bool>& shared);

// The interface of a writer for toprun's own lines. say() and say_block() use it, so that the event
// loop does not block on a terminal or a disk. Any thread may call write() and flush(). The thread
// that ends the process may call flush() too.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(int fd, std::string text) = 0;
  // Waits until all lines that write() has received are written. False: this takes longer than
  // `limit`.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
};

// From now on, `sink` writes the lines of say() and say_block(); null: these two functions write
// directly.
void set_log_sink(std::shared_ptr<LogSink> sink);

// When a process ends, it waits at most this long for a terminal or disk that accepts no data.
inline constexpr std::chrono::milliseconds last_words_limit{2'000};

// Waits until all lines of say() and say_block() are written. False: this takes longer than
// last_words_limit.
bool flush_said();

// Prints "toprun: TEXT" on stderr. The line is printed by a single write(2), so that lines of
// several processes do not mix. The line is lost without an error if stderr is closed. Any thread
// may call say(). The call blocks until the line is written, unless a LogSink writes the line.
void say(std::string_view text);

// Like say(), for text that already consists of whole lines. Colours in the text are kept.
void say_block(std::string_view text);

}  // namespace toprun
