#include "simulation/link.h"

#include <algorithm>

namespace toprun::simulation {

using rendezvous::Loss;

void Link::send(Direction direction, std::function<void()> arrives) {
  last_[direction] =
      std::max(last_[direction], timeline_.now() + dice_.time(milliseconds(0), slowest_));
  held_[direction].push_back(std::move(arrives));
  timeline_.at(last_[direction],
               [self = shared_from_this(), direction] { self->hurry(direction); });
}

// Delivers the oldest, unless nothing passes.
void Link::hurry(Direction direction) {
  if (muted_[direction] % 2 == 1 || held_[direction].empty()) return;
  const auto arrives = std::move(held_[direction].front());
  held_[direction].pop_front();
  if (over_[direction]) return;
  ends_[direction].deliver([self = shared_from_this(), direction, arrives] {
    if (!self->over_[direction]) arrives();
  });
}

void Link::close(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  send(direction, [self = shared_from_this(), direction, other] {
    self->end(direction, std::nullopt);
    self->send(other, [self, other] { self->end(other, std::nullopt); });
  });
}

void Link::break_off(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  over_[other] = true;
  send(direction, [self = shared_from_this(), direction] {
    self->end(direction, Loss{Loss::Kind::closed, "the connection was closed"});
  });
}

void Link::fall_silent(Direction direction) {
  const auto other = direction == to_root ? to_node : to_root;
  over_[other] = true;
  if (muted_[direction] % 2 == 0) mute(direction);
}

void Link::cut(Direction direction) {
  if (muted_[direction] % 2 == 0) mute(direction);
}

void Link::mute(Direction direction) {
  const int mark = ++muted_[direction];
  timeline_.in(silence, [self = shared_from_this(), direction, mark] {
    if (self->muted_[direction] != mark || self->over_[direction]) return;
    const auto other = direction == to_root ? to_node : to_root;
    self->end(direction, Loss{Loss::Kind::silent, "no word for 10 s"});
    self->send(other, [self, other] {
      self->end(other, Loss{Loss::Kind::closed, "the connection was closed"});
    });
  });
}

void Link::mend(Direction direction) {
  if (muted_[direction] % 2 == 0) return;
  ++muted_[direction];
  for (std::size_t waiting = held_[direction].size(); waiting > 0; --waiting) hurry(direction);
}

void Link::end(Direction at_the_end_of, std::optional<Loss> loss) {
  if (over_[at_the_end_of]) return;
  over_[at_the_end_of] = true;
  ends_[at_the_end_of].deliver([over = ends_[at_the_end_of].over, loss] { over(loss); });
}

}  // namespace toprun::simulation
