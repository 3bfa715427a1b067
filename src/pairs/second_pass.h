#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pairs/verdict.h"

namespace toprun::pairs {

// Rounds of a suspect node, with as many partners where there are so many: one moment in which the
// machine stood still must not make a node slow.
inline constexpr std::size_t node_rounds = 3;
// A pair has one result of the first pass; a host that was busy then must not make it slow.
inline constexpr std::size_t pair_repeats = 5;

// Measures suspects again beside known-good nodes. The rounds run one after another with nothing
// else on the network. A node is measured alone with up to three good ones; an uplink with all its
// domain's good nodes at once, because one pair does not fill it. A pair is measured itself,
// several times, and each of its nodes with good ones: in a leaf of two nodes the first pass cannot
// tell them apart. They are slow only if the pair is, each time. Where no node is good, those of
// which only pairs look slow have to do.
struct SecondPass {
  enum class Subject { itself, first_node, second_node };
  // Rounds are indexes in `rounds`. Controls are as many good pairs at the same distance; none
  // where too many nodes are suspected.
  struct Check {
    std::size_t finding = 0;  // index in the verdict's findings, followed by those doubted
    Subject subject = Subject::itself;
    std::vector<std::size_t> suspect;
    std::vector<std::size_t> control;
  };
  std::vector<Round> rounds;
  std::vector<Check> checks;
};

// What to measure. `verdict` is of this cluster. A suspect node without good partners has no check.
SecondPass second_pass(const Cluster& cluster, const Verdict& verdict);

struct Confirmed {
  std::vector<Finding> bad;  // a pair may have become a node; each node stands once
  std::vector<Finding> cleared;
  std::vector<Finding> open;  // nothing to compare with
};

// What the second pass says of the verdict's findings, and which doubted pairs it confirms.
// `measured`: its results, `round` an index in `pass.rounds`; pairs that are missing count as
// nothing. A finding that stays bad keeps the first pass's figures, but a node or a pair has the
// direction of the second; a node that was a pair, and a doubted pair, have all from the second.
Confirmed confirm(const Verdict& verdict, const SecondPass& pass,
                  std::span<const Measured> measured, const Thresholds& thresholds = {});

}  // namespace toprun::pairs
