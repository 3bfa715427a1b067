#include "run/simulation/link.h"

#include <algorithm>

namespace toprun::simulation {
using model::Loss;

void Process::go_on() {
  stopped_ = false;
  while (alive_ && !stopped_ && !waiting_.empty()) {
    Do what = std::move(waiting_.front());
    waiting_.pop_front();
    what();
  }
}

SteadyTime Link::arrival(Direction direction) {
  SteadyTime& last = paths_[direction].last;
  last = std::max(last, timeline_.now() + dice_.time(milliseconds(0), slowest_));
  return last;
}

void Link::close(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  send(direction, [this, direction, other] {
    end(direction, std::nullopt);
    send(other, [this, other] { end(other, std::nullopt); });
  });
}

void Link::break_off(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  paths_[other].over = true;
  send(direction, [this, direction] {
    end(direction, Loss{Loss::Kind::closed, "the connection was closed"});
  });
}

void Link::fall_silent(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  paths_[other].over = true;
  if (!is_muted(direction)) mute(direction);
}

void Link::cut(Direction direction) {
  if (!is_muted(direction)) mute(direction);
}

void Link::mute(Direction direction) {
  const int mark = ++paths_[direction].muted;
  timeline_.in(silence, [this, direction, mark] {
    if (paths_[direction].muted != mark || paths_[direction].over) return;
    const auto other = direction == to_root ? to_node : to_root;
    end(direction, Loss{Loss::Kind::silent, "no word for 10 s"});
    send(other, [this, other] {
      end(other, Loss{Loss::Kind::closed, "the connection was closed"});
    });
  });
}

void Link::repair(Direction direction) {
  if (!is_muted(direction)) return;
  ++paths_[direction].muted;
  for (Do& arrives : std::exchange(paths_[direction].held, {}))
    deliver(direction, std::move(arrives));
}

void Link::end(Direction at_the_end_of, std::optional<Loss> loss) {
  if (paths_[at_the_end_of].over) return;
  paths_[at_the_end_of].over = true;
  End& end = paths_[at_the_end_of].end;
  end.process.deliver([&end, loss = std::move(loss)] { end.over(loss); });
}

}  // namespace toprun::simulation
