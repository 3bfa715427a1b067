#include "simulation/timeline.h"

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

bool Timeline::step(SteadyTime limit) {
  while (!queue_.empty() && queue_.begin()->second.empty()) queue_.erase(queue_.begin());
  if (queue_.empty() || queue_.begin()->first > limit) return false;
  auto& [time, due] = *queue_.begin();
  if (time > now_) steps_before_ = steps_;
  now_ = time;
  ++steps_;
  due.run_first();
  return true;
}

}  // namespace toprun::simulation
