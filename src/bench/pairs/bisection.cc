#include "bench/pairs/bisection.h"

#include <numeric>

namespace toprun::pairs {

Bisection::Bisection(std::size_t count)
    : count_(count), stage_(count < 2 ? Stage::done : Stage::everyone) {}

std::vector<std::size_t> Bisection::first_nodes(std::size_t count) const {
  std::vector<std::size_t> nodes(count);
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  return nodes;
}

std::vector<std::size_t> Bisection::all_but(std::size_t node) const {
  std::vector<std::size_t> nodes = first_nodes(count_);
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(node));
  return nodes;
}

std::optional<std::vector<std::size_t>> Bisection::next() const {
  const std::size_t middle = (passing_ + failing_) / 2;
  switch (stage_) {
    case Stage::done:
      return std::nullopt;
    case Stage::everyone:
      return first_nodes(count_);
    case Stage::last_node:
      return first_nodes(middle);
    case Stage::partner: {
      auto nodes = first_nodes(middle);
      nodes.push_back(last_);
      return nodes;
    }
    case Stage::apart:
      break;
  }
  if (last_ == 1) return all_but(without_second_failed_ ? 0 : 1);
  // A pair of the first node may be the fault of the last: the second has none with the first.
  return std::vector{partner_ == 1 ? std::size_t{1} : partner_ - 1, last_};
}

void Bisection::tell(Outcome outcome) {
  if (stage_ == Stage::done) return;
  ++steps_;
  const bool failed = outcome != Outcome::passed;
  if (failed) found_.hung = outcome == Outcome::hung;
  switch (stage_) {
    case Stage::everyone:
      if (!failed) return end(Kind::nothing, {});
      stage_ = Stage::last_node;
      passing_ = 1;
      failing_ = count_;
      return advance();
    case Stage::last_node:
    case Stage::partner:
      (failed ? failing_ : passing_) = (passing_ + failing_) / 2;
      return advance();
    case Stage::apart:
      return last_ == 1 ? tell_first_two_apart(failed) : tell_apart(failed);
    case Stage::done:
      return;
  }
}

// Ends a bisection whose bounds have met.
void Bisection::advance() {
  if (failing_ - passing_ > 1) return;
  if (stage_ == Stage::last_node) {
    last_ = failing_ - 1;
    if (last_ > 1) return seek_partner();
    if (count_ == 2) return end(Kind::pair, {0, 1});
    stage_ = Stage::apart;
  } else {
    partner_ = failing_;
    stage_ = Stage::apart;
  }
}

void Bisection::seek_partner() {
  stage_ = Stage::partner;
  passing_ = 0;
  failing_ = last_;
  advance();
}

// Nodes 0 and 1 fail together, and none of them has been tried with others.
void Bisection::tell_first_two_apart(bool failed) {
  if (!without_second_failed_) {
    without_second_failed_ = failed;
    return;
  }
  const bool without_first_failed = failed;
  // Both fail where there is a second fault. That of the two nodes is certain.
  if (*without_second_failed_ == without_first_failed) return end(Kind::pair, {0, 1});
  end(Kind::node, {without_first_failed ? std::size_t{1} : std::size_t{0}});
}

void Bisection::tell_apart(bool failed) {
  if (partner_ == 1) {
    return failed ? end(Kind::node, {last_}) : end(Kind::pair, {0, last_});
  }
  if (failed) return end(Kind::pair, {partner_ - 1, last_});
  auto group = first_nodes(partner_);
  group.push_back(last_);
  end(Kind::group, std::move(group));
}

void Bisection::end(Kind kind, std::vector<std::size_t> nodes) {
  stage_ = Stage::done;
  found_.kind = kind;
  found_.nodes = std::move(nodes);
}

}  // namespace toprun::pairs
