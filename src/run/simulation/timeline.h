#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text/clock.h"
#include "run/conductor/events.h"

namespace toprun::simulation {

using std::chrono::milliseconds;

// The future events of one instant, in the order of their insertion. The events are stored one
// after another in memory that is freed with the instant. With one allocation per event, a third of
// a large run's time would be spent on allocations.
class Instant {
 public:
  Instant() = default;
  ~Instant();
  Instant(const Instant&) = delete;
  Instant& operator=(const Instant&) = delete;

  template <class What>
  void add(What&& what) {
    using One = Holding<std::decay_t<What>>;
    Event* const event =
        new (memory_.allocate(sizeof(One), alignof(One))) One(std::forward<What>(what));
    (last_ == nullptr ? first_ : last_->next) = event;
    last_ = event;
  }
  bool empty() const { return first_ == nullptr; }
  // Runs the first event. The event may add other events.
  void run_first();

 private:
  struct Event {
    virtual ~Event() = default;
    virtual void run() = 0;
    Event* next = nullptr;
  };
  template <class What>
  struct Holding final : Event {
    template <class Action>
    explicit Holding(Action&& action) : what(std::forward<Action>(action)) {}
    void run() override { what(); }
    What what;
  };

  Event* take_first();

  alignas(std::max_align_t) std::byte first_block_[512];
  std::pmr::monotonic_buffer_resource memory_{first_block_, sizeof first_block_};
  Event* first_ = nullptr;
  Event* last_ = nullptr;
};

// Virtual time: a queue of future events. Events at the same time keep the order of their
// insertion.
class Timeline {
 public:
  template <class What>
  void at(SteadyTime time, What&& what) {
    instant(std::max(time, now_)).add(std::forward<What>(what));
  }
  template <class What>
  void in(milliseconds time, What&& what) {
    at(now_ + time, std::forward<What>(what));
  }
  // Runs the next event. False: there is no event before `limit`.
  bool step(SteadyTime limit);
  SteadyTime now() const { return now_; }
  run::Moment moment() const { return {now_, WallTime(now_.time_since_epoch())}; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t steps_of_this_instant() const { return steps_ - steps_before_; }

 private:
  struct HashOfTime {
    std::size_t operator()(SteadyTime time) const {
      return std::hash<std::int64_t>()(time.time_since_epoch().count());
    }
  };

  Instant& instant(SteadyTime time);

  // Many events occur at the same few instants, so lookups are more frequent than insertions.
  boost::unordered_flat_map<SteadyTime, std::unique_ptr<Instant>, HashOfTime> instants_;
  using Next = std::pair<SteadyTime, Instant*>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::uint64_t steps_ = 0;
  std::uint64_t steps_before_ = 0;  // value of steps_ at the start of this instant
};

// Random choices from a seed. Every agent and every link has its own generator, so a generator must
// be small. SplitMix64 (Steele, Lea and Flood 2014) has 8 bytes of state; the standard library's
// mt19937 has 2.5 kB.
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
