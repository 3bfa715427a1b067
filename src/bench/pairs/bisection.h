#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace toprun::pairs {

// The result of a collective in a group of nodes. A hang is a time-out set by the caller.
enum class Outcome { passed, failed, hung };

// Finds out which nodes make a collective fail or hang, by trying it in smaller groups. A group is
// assumed to fail if it holds a bad node, or both ends of a bad link.
//
// The caller runs the collective in next() and reports its outcome to tell(), until next() gives
// nothing; at most 2·log2(N) + 4 groups (N: nodes, log2 rounded up) of two nodes or more.
//
//   everyone ──▶ last node ──▶ partner ──▶ apart ──▶ done
//        └── passed ──────────────────────────────────▲
//
// "Last node": the smallest k for which the first k nodes fail, by bisection; so the k-th is at
// fault, alone or with one before it. "Partner": the smallest j for which the first j nodes and
// the k-th fail. "Apart": whether one node is bad, or the link between two.
class Bisection {
 public:
  enum class Stage { everyone, last_node, partner, apart, done };
  enum class Kind {
    nothing,  // all nodes together passed: they are healthy, or the fault comes and goes
    node,
    pair,   // both nodes work with others
    group,  // no two nodes of this group fail alone: it takes more, or the fault comes and goes
  };
  struct Found {
    Kind kind = Kind::nothing;
    std::vector<std::size_t> nodes;  // indexes, ascending; of a group, the smallest that failed
    bool hung = false;               // it hung when it last failed; otherwise it failed at once
  };

  // The nodes are 0 … count − 1. Of fewer than two there is nothing to try.
  explicit Bisection(std::size_t count);

  // The nodes to try next, ascending; nothing once the search is done.
  std::optional<std::vector<std::size_t>> next() const;
  // The outcome of the group from next(). Without such a group it has no effect.
  void tell(Outcome outcome);

  Stage stage() const { return stage_; }
  std::size_t steps() const { return steps_; }
  // Valid once the search is done.
  const Found& found() const { return found_; }

 private:
  std::vector<std::size_t> first_nodes(std::size_t count) const;
  std::vector<std::size_t> all_but(std::size_t node) const;
  void advance();
  void seek_partner();
  void tell_first_two_apart(bool failed);
  void tell_apart(bool failed);
  void end(Kind kind, std::vector<std::size_t> nodes);

  std::size_t count_;
  Stage stage_;
  std::size_t steps_ = 0;
  // In the current bisection: the numbers of first nodes that pass and that fail.
  std::size_t passing_ = 0;
  std::size_t failing_ = 0;
  std::size_t last_ = 0;     // the node at fault
  std::size_t partner_ = 0;  // the number of first nodes that fail with it
  std::optional<bool> without_second_failed_;
  Found found_;
};

}  // namespace toprun::pairs
