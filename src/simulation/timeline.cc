#include "simulation/timeline.h"

namespace toprun::simulation {

bool Timeline::step(SteadyTime limit) {
  if (queue_.empty() || queue_.top().time > limit) return false;
  const Entry entry = queue_.top();
  queue_.pop();
  now_ = entry.time;
  ++steps_;
  entry.what();
  return true;
}

}  // namespace toprun::simulation
