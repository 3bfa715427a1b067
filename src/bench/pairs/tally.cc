#include "bench/pairs/tally.h"

#include <algorithm>

namespace toprun::pairs {

Tally::Tally(std::size_t nodes, std::span<const Measured> measured, const Ratios& ratios,
             double slow_below)
    : measured_(measured), ratios_(ratios), slow_below_(slow_below), pairs_of_(nodes) {
  for (const std::size_t shared : ratios.shared) levels_ = std::max(levels_, shared + 1);
  counts_.resize(nodes * levels_ * directions);
  open_.resize(measured.size() * directions);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    pairs_of_[measured[i].a].push_back(i);
    pairs_of_[measured[i].b].push_back(i);
  }
  for (std::size_t figure = 0; figure < open_.size(); ++figure) {
    if (ratios.all[figure].value < 0) continue;
    open_[figure] = 1;
    change(figure, [](std::size_t& count) { ++count; });
  }
}

std::size_t Tally::place(std::size_t node, Way way, std::size_t shared) const {
  return (node * levels_ + shared) * directions + (way == Way::out ? 0 : 1);
}

const Count& Tally::of(std::size_t node, Way way, std::size_t shared) const {
  return counts_[place(node, way, shared)];
}

Count Tally::of_all_levels(std::size_t node, Way way) const {
  Count sum;
  for (std::size_t shared = 0; shared < levels_; ++shared) {
    sum.slow += of(node, way, shared).slow;
    sum.all += of(node, way, shared).all;
  }
  return sum;
}

bool Tally::slow(std::size_t figure) const {
  return ratios_.all[figure].value < slow_below_;
}

void Tally::explain(std::size_t figure) {
  if (!open(figure)) return;
  open_[figure] = 0;
  change(figure, [](std::size_t& count) { --count; });
}

std::size_t Tally::sender(std::size_t figure) const {
  const Measured& pair = measured_[figure / directions];
  return figure % directions == 0 ? pair.a : pair.b;
}

std::size_t Tally::receiver(std::size_t figure) const {
  const Measured& pair = measured_[figure / directions];
  return figure % directions == 0 ? pair.b : pair.a;
}

template <class Change>
void Tally::change(std::size_t figure, Change by) {
  const std::size_t shared = ratios_.shared[figure / directions];
  for (const std::size_t at :
       {place(sender(figure), Way::out, shared), place(receiver(figure), Way::in, shared)}) {
    by(counts_[at].all);
    if (slow(figure)) by(counts_[at].slow);
  }
}

}  // namespace toprun::pairs
