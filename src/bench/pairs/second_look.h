#pragma once

#include <array>
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

// A finding of the first pass that SecondLook measures again.
struct Suspect {
  Finding finding;
  bool avoided = true;  // whether the nodes of this finding must not be used as controls
};

// What a check is about: the suspect itself, or one node of a suspect pair. The nodes are checked
// too, because in a leaf domain of two nodes, the first pass cannot find out whether the pair or
// one of its nodes is slow.
enum class Subject { itself, first_node, second_node };

struct Question {
  std::size_t suspect = 0;  // index of the suspect
  Subject subject = Subject::itself;
};

// The rounds of pairs that a second pass measures, and the purpose of each round. The rounds run
// one after another, with no other traffic on the network. A suspect node is measured with up to
// three good nodes, one at a time. An uplink is measured with all good nodes of its domain at once,
// because one pair does not fill it. Pairs and domains are measured several times. If no node is
// known to be good, the nodes for comparison are those that are suspect only as part of a pair.
struct SecondPlan {
  // The rounds that show whether one suspect is slow, as indexes in `rounds`. `control`: the rounds
  // for comparison, with the same number of good pairs at the same distance. There are no controls
  // if too many nodes are suspects.
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

// The findings of a first pass, grouped by what SecondLook's passes have shown.
struct Confirmed {
  std::vector<Finding> bad;  // confirmed; a bad node may replace the suspect pair that it is in; no
                             // node is listed twice
  std::vector<Finding> cleared;
  std::vector<Finding> open;  // not decided, because there were no comparable pairs
  std::vector<Finding> left;  // not measured again, because time ran out
  // Pairs that are slower than their controls, like most other pairs at the same distance. Perhaps
  // only the controls are unusually fast.
  std::vector<Finding> most;
};

// What one pass found out about a question: whether the node, pair or uplink is slow.
struct Answer {
  bool known = false;
  bool slow = false;
  Way way = Way::both;
  double reached = 0;  // in units of pace()
  double usual = 0;
  std::size_t slow_pairs = 0;
  std::size_t pairs = 0;
  std::size_t hung = 0;
};

// Measures the suspects again: the findings and doubted pairs of a first pass. Compares them with
// controls, which are pairs of known-good nodes. Pass 1 measures each suspect. A suspect that is as
// fast as its controls is cleared. Pass 2 measures both nodes of each suspect pair that pass 1 has
// not cleared. Passes 2 and 3 also repeat questions without an answer, if a node that was cleared
// can now be a control.
//
// The caller measures the rounds from next() and reports the results to tell(), until next() is
// empty.
class SecondLook {
 public:
  using Answers = std::array<Answer, 3>;  // by subject
  static constexpr std::size_t most_passes = 3;

  // `verdict` must be a verdict on this cluster.
  SecondLook(const Cluster& cluster, const Verdict& verdict, const Thresholds& thresholds = {});

  // Returns the rounds to measure; the same rounds until tell() is called. Empty: nothing is left
  // to measure.
  const std::vector<Round>& next() const { return plan_.rounds; }
  // The caller reports `measured`, the results of the first `played` rounds from next().
  // Measured::round is an index in next(). Missing pairs are ignored. A question is answered only
  // if all its rounds were measured.
  void tell(std::span<const Measured> measured, std::size_t played);

  // Returns the findings and the bad doubted pairs, grouped by what the passes have shown. If a
  // finding is confirmed, its numbers are from the first pass, but the direction of a bad node or
  // pair is from the second pass. For a doubted pair, or a bad node that was found through a pair,
  // all numbers are from the second pass.
  Confirmed found() const;

 private:
  // Returns the questions for the next pass. In pass 2, these questions are about both nodes of
  // each suspect pair that pass 1 has not cleared. If a cleared suspect can now be a control, the
  // questions that had no controls are repeated.
  std::vector<Question> unanswered(bool others_are_cleared) const;
  // Moves pairs from `bad` to `most` if more than half of the pairs at their distance are in `bad`.
  void withdraw_majorities(Confirmed& found) const;

  Domains domains_;
  Figure figure_;
  Thresholds thresholds_;
  std::vector<Suspect> suspects_;  // the verdict's findings, then the doubted pairs
  std::size_t findings_;
  std::vector<Answers> answers_;  // by suspect
  std::vector<bool> is_left_;  // by suspect: true if some of the suspect's rounds were not played
  std::size_t passes_ = 0;
  SecondPlan plan_;
};

}  // namespace toprun::pairs
