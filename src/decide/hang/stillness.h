#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/text/clock.h"

namespace toprun::hang {

// What one sample of a rank's state shows about its progress.
struct RankSample {
  bool lives = true;
  bool communicates = false;  // its main thread is in a call that waits for other ranks
  std::uint64_t path = 0;     // a hash of the functions on its main thread's stack; 0: unknown
  std::uint64_t done = 0;     // a counter that increases when the rank prints, reads or writes
  bool computes = false;      // the rank or a child process used a CPU since the last sample
};

// A rank that works shows more than most_paths_of_a_wait different stacks within the time limit. A
// waiting rank shows at most this many different paths, even if it polls in a loop.
inline constexpr std::size_t most_paths_of_a_wait = 3;

// If a rank has made no progress for the whole time limit, a computation counts as progress only if
// it is long enough. The computation is long enough if it lasts a tenth of the time limit, or
// longest_doubt. One busy sample in an hour is not progress: threads of a rank that waits wake up
// now and then too.
inline constexpr std::chrono::seconds longest_doubt{5};

struct Still {
  SteadyTime since{};             // no live rank has made progress since then
  bool some_communicate = false;  // at least one live rank waits for other ranks
};

// Determines when a node's ranks last made progress. No system calls.
//
// A rank makes progress if it prints, reads or writes. A rank also makes progress if it or a child
// process computes, or if its main thread was in more than a few functions. So a rank that
// calculates for an hour in one call makes progress. A rank that polls for a file, or loops between
// a few functions in Python, makes no progress. If a rank has made no progress for the whole time
// limit, a short computation does not count (longest_doubt).
class Stillness {
 public:
  // `remembered`: how far back the samples are kept.
  explicit Stillness(std::chrono::milliseconds remembered) : remembered_(remembered) {}

  // Ranks have to be in the same order in each call.
  void look(std::span<const RankSample> ranks, SteadyTime now);

  // Nothing ran for `time` until now: the job was suspended. The time counts neither as a wait nor
  // as progress.
  void leave_out(SteadyTime::duration time);

  // nullopt before the first call of look(), and if all ranks have ended.
  std::optional<Still> still() const;

 private:
  struct Rank {
    RankSample last;
    SteadyTime moved{};
    std::optional<SteadyTime> computes_since;  // since when all samples show that the rank computed
    std::deque<std::pair<SteadyTime, std::uint64_t>>
        paths;  // each with the time of its first sample; newest last
  };
  SteadyTime since(const Rank& rank) const;
  bool computing_counts(const Rank& rank, SteadyTime now) const;

  std::chrono::milliseconds remembered_;
  std::vector<Rank> ranks_;
};

}  // namespace toprun::hang
