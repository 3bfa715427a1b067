#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace toprun {

// Writes toprun's own lines, so that the event loop does not block on a terminal or a disk. Any
// thread may call write() and flush(). A thread that ends the process may also call flush().
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(int fd, std::string text) = 0;
  // Waits until all lines are written. Returns false if the wait takes longer than `limit`.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
};

// From now on, `sink` writes the lines of say() and say_block(); null: these two functions write
// directly.
void set_log_sink(std::shared_ptr<LogSink> sink);

// How long an ending process waits for a terminal or disk that accepts no data.
inline constexpr std::chrono::milliseconds last_words_limit{2'000};

// Waits until all lines are written. Returns false if the wait takes longer than last_words_limit.
bool flush_said();

}  // namespace toprun
