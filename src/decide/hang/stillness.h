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

// How many different call stacks (RankSample::path) a waiting rank has at most. A rank that polls
// alternates between a few stacks. If a rank has had more different stacks within the time limit
// for a hang, it makes progress.
inline constexpr std::size_t most_paths_of_a_wait = 3;

// A short computation may not count as progress. If a rank made no other progress for the whole
// time limit for a hang, a computation has to last a tenth of this limit, or longest_doubt if that
// is shorter. One busy sample in an hour is not progress, because the threads of a waiting rank
// wake up now and then too.
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
// a few functions in Python, makes no progress. If a rank made no other progress for the whole time
// limit, a short computation does not count either (longest_doubt).
class Stillness {
 public:
  // `remembered`: how long samples are kept, which is the time limit for a hang.
  explicit Stillness(std::chrono::milliseconds remembered) : remembered_(remembered) {}

  // Takes the samples of all ranks, which have to be in the same order in each call.
  void look(std::span<const RankSample> ranks, SteadyTime now);

  // Ignores the last period of length `time`. The caller calls this after the job was suspended for
  // it. This time counts neither as a wait nor as progress.
  void leave_out(SteadyTime::duration time);

  // Returns since when no live rank has made progress. nullopt: look() was not called yet, or all
  // ranks have ended.
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
