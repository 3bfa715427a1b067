#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/domains.h"
#include "bench/pairs/pair_verdict.h"

namespace toprun::pairs {

// The number of rounds for a suspect node, with different partners if there are enough. A short
// pause of the machine in one round must not make the node look slow.
inline constexpr std::size_t node_rounds = 3;
// How often a pair is measured again, because its host may have been busy during the first pass.
inline constexpr std::size_t pair_repeats = 5;

// A finding of the first pass that is measured again.
struct Suspect {
  Finding finding;
  bool avoided = true;  // other nodes are not compared with its nodes
};

// The subject of a check. For a pair, also whether one of its nodes is slow: in a leaf of two nodes
// the first pass cannot distinguish the two.
enum class Subject { itself, first_node, second_node };

struct Question {
  std::size_t suspect = 0;  // index
  Subject subject = Subject::itself;
};

// Rounds run one after another with nothing else on the network. A node is measured alone with up
// to three good ones, an uplink with all its domain's good nodes at once, because one pair does not
// fill it, and a pair several times. Where no node is good, those that look slow only in pairs
// have to do.
struct SecondPlan {
  // Rounds are indexes in `rounds`. Controls are equally many good pairs at the same distance.
  // There are no controls if too many nodes are suspected.
  struct Check {
    Question question;
    std::vector<std::size_t> suspect;
    std::vector<std::size_t> control;
  };
  std::vector<Round> rounds;
  std::vector<Check> checks;  // none for a question that no good node can answer
};

SecondPlan second_plan(const Domains& domains, std::span<const Suspect> suspects,
                       std::span<const Question> questions);

}  // namespace toprun::pairs
