#include "run/simulation/process.h"

namespace toprun::simulation {

void Process::go_on() {
  stopped_ = false;
  while (alive_ && !stopped_ && !waiting_.empty()) {
    Do what = std::move(waiting_.front());
    waiting_.pop_front();
    what();
  }
}

}  // namespace toprun::simulation
