#include "run/simulation/timeline.h"

#include <memory>

namespace toprun::simulation {

Instant::~Instant() {
  while (!empty()) std::destroy_at(take_first());
}

Instant::Event* Instant::take_first() {
  Event* const event = first_;
  first_ = event->next;
  if (first_ == nullptr) last_ = nullptr;
  return event;
}

void Instant::run_first() {
  Event* const event = take_first();
  event->run();
  std::destroy_at(event);
}

Instant& Timeline::instant(SteadyTime time) {
  std::unique_ptr<Instant>& found = instants_[time];
  if (!found) {
    found = std::make_unique<Instant>();
    next_.emplace(time, found.get());
  }
  return *found;
}

bool Timeline::step(SteadyTime limit) {
  while (!next_.empty() && next_.top().second->empty()) {
    instants_.erase(next_.top().first);
    next_.pop();
  }
  if (next_.empty() || next_.top().first > limit) return false;
  const auto [time, due] = next_.top();
  if (time > now_) steps_before_ = steps_;
  now_ = time;
  ++steps_;
  due->run_first();
  return true;
}

}  // namespace toprun::simulation
