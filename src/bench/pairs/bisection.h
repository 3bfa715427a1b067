#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace toprun::pairs {

// The result of a collective in a group of nodes. `hung`: the caller's time-out has expired.
enum class Outcome { passed, failed, hung };

// Finds the nodes that make a collective fail or hang, by testing smaller groups. The search
// assumes that a group fails if it contains a bad node, or both ends of a bad link.
//
// The caller runs the collective in the group from next() and reports the outcome to tell(), until
// next() returns nullopt. There are at most 2·log2(N) + 4 groups (N: nodes, log2 rounded up), each
// of two nodes or more. Stages:
//
//   everyone ──▶ last node ──▶ partner ──▶ apart ──▶ done
//        └── passed ──────────────────────────────────▲
//
// "Last node" finds the smallest k for which the first k nodes fail, by bisection. So the k-th node
// is at fault, alone or together with an earlier node. "Partner" finds the smallest j for which the
// first j nodes and the k-th node fail together. "Apart" tests whether one node or the link between
// two nodes is bad.
class Bisection {
 public:
  enum class Stage { everyone, last_node, partner, apart, done };
  enum class Kind {
    nothing,  // all nodes passed together: they are healthy, or the fault is intermittent
    node,
    pair,   // the two nodes fail together, but both nodes work with other nodes
    group,  // this group fails, but none of its pairs does: the fault needs more than two nodes, or
            // is intermittent
  };
  struct Found {
    Kind kind = Kind::nothing;
    std::vector<std::size_t> nodes;  // indexes, ascending; for `group`, the smallest group that
                                     // failed
    bool hung = false;               // the last failure was a hang
  };

  // The nodes are 0 … count − 1. With fewer than two nodes, there is nothing to test.
  explicit Bisection(std::size_t count);

  // Returns the nodes to test next, ascending; nullopt after the end of the search.
  std::optional<std::vector<std::size_t>> next() const;
  // Reports the outcome for the group from next(). Has no effect if next() returns nullopt.
  void tell(Outcome outcome);

  Stage stage() const { return stage_; }
  std::size_t steps() const { return steps_; }
  // Returns what the search has found. Valid only after its end, when next() returns nullopt.
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
  // In the current bisection, a group of the first `passing_` nodes passed. A group of the first
  // `failing_` nodes failed.
  std::size_t passing_ = 0;
  std::size_t failing_ = 0;
  std::size_t last_ = 0;     // the result of "last node"
  std::size_t partner_ = 0;  // the first `partner_` nodes fail together with last_
  std::optional<bool> without_second_failed_;
  Found found_;
};

}  // namespace toprun::pairs
