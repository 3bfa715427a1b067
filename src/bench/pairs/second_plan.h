#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/distances.h"
#include "bench/pairs/pair_verdict.h"

namespace toprun::pairs {

// The number of rounds for a suspect node, with different partners if there are enough nodes.
// Several rounds are needed, because a short pause of the machine must not make a node seem slow.
inline constexpr std::size_t node_rounds = 3;
// The number of rounds for a suspect pair, or for the pairs between two domains. Several rounds are
// needed, because hosts may be busy for a moment.
inline constexpr std::size_t repeats = 5;

// A finding of the first pass that is measured again.
struct Suspect {
  Finding finding;
  bool avoided = true;  // whether the nodes of this finding must not be used as controls
};

// The subject of a check: the suspect itself, or a node of a suspect pair. The nodes are checked
// too, because in a leaf domain of two nodes, the first pass cannot find out whether the pair or
// one of its nodes is slow.
enum class Subject { itself, first_node, second_node };

struct Question {
  std::size_t suspect = 0;  // index of the suspect
  Subject subject = Subject::itself;
};

// The rounds of a second pass, and what each round is for. The rounds run one after another, with
// no other traffic on the network. A suspect node is measured with up to three good nodes, one at a
// time. An uplink is measured with all good nodes of its domain at once, because one pair does not
// fill it. Pairs and domains are measured several times. If no node is good, the controls are nodes
// that are suspect only as part of a pair.
struct SecondPlan {
  // The rounds that answer a question, as indexes in `rounds`. The controls are rounds with the
  // same number of good pairs at the same distance. There are no controls if too many nodes are
  // suspects.
  struct Check {
    Question question;
    std::vector<std::size_t> suspect;
    std::vector<std::size_t> control;
  };
  std::vector<Round> rounds;
  std::vector<Check> checks;  // if no good node is available for a question, the question has no
                              // check
};

SecondPlan second_plan(const Domains& domains, std::span<const Suspect> suspects,
                       std::span<const Question> questions);

}  // namespace toprun::pairs
