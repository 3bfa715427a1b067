#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text/clock.h"

namespace toprun::jobs {

// Finds the lines of the engine's file that are in no HOST.out: those of the batch script and of
// the engine's programs. The ranks' lines are in both files, and each is shown once, from its
// host's file. It compares how often a line occurs and not its position, because the engine mixes
// hosts.
//
// Its memory is bounded for jobs of any length: a line whose twin comes later than that many other
// lines is shown twice.
class Remainder {
 public:
  struct Limits {
    std::size_t host_lines = 1'000'000;     // different lines without a twin; it forgets the oldest
    std::size_t waiting_bytes = 16u << 20;  // of the engine's lines; it releases the oldest early
  };

  Remainder() : Remainder(Limits{}) {}
  explicit Remainder(const Limits& limits) : limits_(limits) {}
  Remainder(const Remainder&) = delete;
  Remainder& operator=(const Remainder&) = delete;

  // A line of a HOST.out, without its end.
  void add_host_line(std::string_view line);
  // A line of the engine's file, which was read `now`, and how it is to be shown.
  void add_engine_line(std::string_view line, std::string shown, SteadyTime now);
  // The same as what a LogTail asks of each line; not after the remainder's end. Lines of the
  // engine's file are shown by take() alone.
  std::function<bool(std::string_view)> host_lines();
  std::function<bool(std::string_view)> engine_lines(std::string prefix);
  // The engine's lines that no HOST.out has, of those read before `until`. One that is given may
  // come from a host later all the same.
  std::string take(SteadyTime until);

 private:
  struct Waiting {
    std::size_t hash;
    std::string shown;
    SteadyTime read;
  };
  using Counts = std::unordered_map<std::size_t, std::uint64_t>;
  bool take_twin(Counts& counts, std::size_t hash);

  Limits limits_;
  // By hash, those not yet found in the engine's file: when the younger ones are half the limit,
  // the older ones are forgotten, and the younger ones are the older ones.
  Counts younger_;
  Counts older_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace toprun::jobs
