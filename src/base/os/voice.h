#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace toprun {

// Writes toprun's own lines in a process whose event loop must not block on a terminal or a disk.
// Any thread may make both calls, flush() also a thread that is ending the process.
class Voice {
 public:
  virtual ~Voice() = default;
  virtual void write(int fd, std::string text) = 0;
  // Waits until all is written; false: it is not after `limit`.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
};

// From now on `voice` writes the lines of say() and say_block(); null: they write them themselves.
void say_through(std::shared_ptr<Voice> voice);

// The time that an ending process waits for a terminal or a disk that accepts nothing.
inline constexpr std::chrono::milliseconds last_words_limit{2'000};

// Waits until all lines are written; false if that takes longer than last_words_limit.
bool flush_said();

}  // namespace toprun
