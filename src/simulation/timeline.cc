#include "simulation/timeline.h"

namespace toprun::simulation {

bool Timeline::step(SteadyTime limit) {
  while (!queue_.empty() && queue_.begin()->second.empty()) queue_.erase(queue_.begin());
  if (queue_.empty() || queue_.begin()->first > limit) return false;
  auto& [time, due] = *queue_.begin();
  if (time > now_) steps_before_ = steps_;
  now_ = time;
  ++steps_;
  Do what = std::move(due.front());
  due.pop_front();
  what();
  return true;
}

}  // namespace toprun::simulation
