#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "run/events.h"

namespace toprun::simulation {

using std::chrono::milliseconds;

using Do = std::move_only_function<void()>;

// Virtual time: future events in order. Events at equal times keep the order of their insertion.
class Timeline {
 public:
  void at(SteadyTime time, Do what) { queue_[std::max(time, now_)].push_back(std::move(what)); }
  void in(milliseconds time, Do what) { at(now_ + time, std::move(what)); }
  // Runs the next event; false if there is none before `limit`.
  bool step(SteadyTime limit);
  SteadyTime now() const { return now_; }
  run::Moment moment() const { return {now_, WallTime(now_.time_since_epoch())}; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t steps_of_this_instant() const { return steps_ - steps_before_; }

 private:
  std::map<SteadyTime, std::deque<Do>> queue_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::uint64_t steps_ = 0;
  std::uint64_t steps_before_ = 0;  // at the start of this instant
};

// Random choices from a seed. Uses SplitMix64 (Steele, Lea and Flood 2014), because every agent and
// every link has its own generator, and the standard engines have 2.5 kB of state.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int number(int least, int most) {
    return least + static_cast<int>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  milliseconds time(milliseconds least, milliseconds most) {
    return milliseconds(number(static_cast<int>(least.count()), static_cast<int>(most.count())));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

 private:
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

}  // namespace toprun::simulation
