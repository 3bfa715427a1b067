#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "base/clock.h"
#include "run/events.h"

namespace toprun::simulation {

using std::chrono::milliseconds;

// Virtual time: what is to happen, in order. Equal times keep the order in which they were given.
class Timeline {
 public:
  using Do = std::function<void()>;

  void at(SteadyTime time, Do what) { queue_.push({std::max(time, now_), ++given_, what}); }
  void in(milliseconds time, Do what) { at(now_ + time, std::move(what)); }
  // The next thing; false: there is none before `limit`.
  bool step(SteadyTime limit);
  SteadyTime now() const { return now_; }
  run::Moment moment() const { return {now_, WallTime(now_.time_since_epoch())}; }
  std::uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    SteadyTime time;
    std::uint64_t number;
    Do what;
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  std::priority_queue<Entry> queue_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::uint64_t given_ = 0;
  std::uint64_t steps_ = 0;
};

// What a seed chooses.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int number(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  milliseconds time(milliseconds least, milliseconds most) {
    return milliseconds(number(static_cast<int>(least.count()), static_cast<int>(most.count())));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace toprun::simulation
