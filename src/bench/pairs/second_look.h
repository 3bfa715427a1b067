#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/second_plan.h"

namespace toprun::pairs {

struct Confirmed {
  std::vector<Finding> bad;  // a pair may have become a node; each node stands once
  std::vector<Finding> cleared;
  std::vector<Finding> open;  // no comparable pair
  std::vector<Finding> left;  // not measured again, because time ran out
};

// The result of a pass for one question.
struct Answer {
  bool known = false;
  bool slow = false;
  Way way = Way::both;
  double reached = 0;  // paces
  double usual = 0;
  std::size_t slow_pairs = 0;
  std::size_t pairs = 0;
  std::size_t hung = 0;
};

// Measures a first pass' suspects again beside known-good nodes:
//
//   each suspect itself ──▶ the nodes of slow pairs; what is open, beside those that were cleared
//                                                    └──▶ what is still open, in the same way
//
// The caller measures next()'s rounds and reports the results to tell(), until next() is empty.
class SecondLook {
 public:
  using Answers = std::array<Answer, 3>;  // by subject
  static constexpr std::size_t most_passes = 3;

  // `verdict` must belong to this cluster.
  SecondLook(const Cluster& cluster, const Verdict& verdict, const Thresholds& thresholds = {});

  // Returns the same rounds until tell() is called; empty once no question is left.
  const std::vector<Round>& next() const { return plan_.rounds; }
  // `measured`: results of the first `played` rounds of next(); `round` is an index in next().
  // Missing pairs count as nothing. A question has no answer unless all its rounds were played.
  void tell(std::span<const Measured> measured, std::size_t played);

  // What is known so far of the verdict's findings, and which doubted pairs are bad. A finding that
  // stays bad keeps the first pass's figures, but a node or a pair has the direction of the second;
  // a node that was a pair, and a doubted pair, have all from the second.
  Confirmed found() const;

 private:
  // What the next pass asks: of pairs that are not cleared their nodes, and what had nothing to be
  // compared with, if there are others now.
  std::vector<Question> unanswered(bool others_are_cleared) const;

  Domains domains_;
  Figure figure_;
  Thresholds thresholds_;
  std::vector<Suspect> suspects_;  // the verdict's findings, then those doubted
  std::size_t findings_;
  std::vector<Answers> answers_;  // by suspect
  std::vector<bool> is_left_;     // by suspect: some of its rounds were not played
  std::size_t passes_ = 0;
  SecondPlan plan_;
};

}  // namespace toprun::pairs
