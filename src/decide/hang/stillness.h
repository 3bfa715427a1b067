#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/text/clock.h"

namespace toprun::hang {

// What one look at a rank shows of its progress.
struct Glance {
  bool lives = true;
  bool communicates = false;  // its main thread is in a call that waits for other ranks
  std::uint64_t path = 0;     // a hash of the functions on its main thread's stack; 0: unknown
  std::uint64_t done = 0;     // grows with what it prints, reads and writes
  bool computes = false;      // it, or a process below it, was computing since the last look
};

// A rank that still works shows more than these functions within the time limit; one that waits,
// also in a loop that asks again and again, shows fewer.
inline constexpr std::size_t most_paths_of_a_wait = 3;

struct Still {
  SteadyTime since{};             // no rank that lives has made progress since then
  bool some_communicate = false;  // at least one of them waits for other ranks
};

// Judges when a node's ranks last made progress; pure.
//
// A rank makes progress if it prints, reads or writes, if it or a process below it computes, or if
// its main thread was in more than a few functions. So a rank that calculates for an hour in one
// call does; one that asks for a file again and again, or runs in a circle in Python, does not.
class Stillness {
 public:
  // `remembered`: how far back it looks.
  explicit Stillness(std::chrono::milliseconds remembered) : remembered_(remembered) {}

  // Ranks in the same order each time.
  void look(std::span<const Glance> ranks, SteadyTime now);

  // nullopt before the first look, and if no rank lives.
  std::optional<Still> still() const;

 private:
  struct Rank {
    Glance last;
    SteadyTime moved{};
    std::deque<std::pair<SteadyTime, std::uint64_t>>
        paths;  // each with its first look; newest last
  };
  SteadyTime since(const Rank& rank) const;

  std::chrono::milliseconds remembered_;
  std::vector<Rank> ranks_;
};

}  // namespace toprun::hang
