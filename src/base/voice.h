#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace toprun {

// Who writes toprun's own lines in a process whose event loop must not wait for a terminal or a
// disk. Both calls may come from any thread, flush() also from one that dies.
class Voice {
 public:
  virtual ~Voice() = default;
  virtual void write(int fd, std::string text) = 0;
  // Waits until all is written; false: it is not after `limit`.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
};

// What say() and say_block() are given from now on is written by `voice`; null: by themselves.
void say_through(std::shared_ptr<Voice> voice);

// What an ending process waits for a terminal or a disk that takes nothing.
inline constexpr std::chrono::milliseconds last_words_limit{2'000};

// Waits until all that was said is written; false: it is not within last_words_limit.
bool flush_said();

// Ends the process at once, but for flush_said(), which _exit() alone would leave out.
[[noreturn]] void leave(int exit_code);

}  // namespace toprun
