#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text/clock.h"
#include "run/model/messages.h"

namespace toprun::run {

// How many agents a job needs and may have. If srun or mpirun started the ranks, each rank has its
// own agent and counts separately.
struct Size {
  int least = 1;
  int most = 1;
  // Whether a new agent can replace a lost agent. Newcomers beyond `most` wait as spares.
  bool repairable = false;
  // Whether two agents may have the same node rank, because it is only a preference (arrange()
  // decides).
  bool ranks_are_hints = false;
};

// One agent as the root sees it. An agent with a seat is a member of the job.
//
//   admitted --its link is there--> waiting, or spare if no seat is free
//   waiting --assigned--> preparing --ready--> ready --all are--> running --no worker left--> gone
//   waiting --told to start with its assignment--> running
//   spare, preparing … gone --the next attempt's gathering--> waiting
//   any with a link --link lost--> lost;  --Finish sent--> leaving
//   lost and leaving agents are finally forgotten
enum class NodeState { admitted, spare, waiting, preparing, ready, running, gone, lost, leaving };

struct Node {
  // The most frequently used fields come first. With a hundred thousand nodes, few of these objects
  // are in the CPU's cache.
  NodeState state = NodeState::admitted;
  bool has_seat = false;              // the agent is a member of the job; lost and leaving agents
                                      // are not members
  std::optional<std::size_t> part{};  // its index in the current attempt
  std::optional<int> leaves_by{};     // the signal that ended only its agent
  bool has_taken_part = false;        // the agent has taken part in an attempt, so it does not lose
                                      // its seat to another agent
  bool waits = false;                 // the root has sent it the message to wait as a spare
  std::uint64_t arrival = 0;          // sequence number of its arrival
  SteadyTime linked_at{};             // when its link was open
  std::string address;                // its remote address; empty: the root's own process
  model::Join join;

  bool is_linked() const {
    return state != NodeState::admitted && state != NodeState::lost && state != NodeState::leaving;
  }
  bool is_own() const { return address.empty(); }
};

// All agents of a run by their ids. Only this class decides which agents are members of the job
// (have a seat) and which wait as spares. Performs no I/O. A lookup costs O(1).
//
//   open --close()--> closed --open()--> open …
//   Open: a newcomer gets a free seat; without a free seat, the newcomer is a spare.
//   Closed, during an attempt: every newcomer is a spare. open() gives the free seats to spares,
//   except to spares whose fixed node rank a member already has.
class Roster {
 public:
  // Open addressing: a lookup among a hundred thousand entries costs two cache misses instead of
  // four.
  using Nodes = boost::unordered_flat_map<std::string, std::unique_ptr<Node>>;

  explicit Roster(Size size) : size_(size) {}

  // Admits the newcomer, or returns the reason for a refusal.
  std::optional<model::Refused> admit(const model::Join& join);
  // The agent's link is open. From then on, the agent waits for an assignment, or waits as a spare.
  void arrived(Node& node, std::string address);
  // Takes away the agent's seat, but keeps the agent's entry. `state`: lost or leaving.
  void unseat(Node& node, NodeState state);
  void forget(const std::string& agent);
  void forget_the_lost();
  // Opens the roster before an attempt: members wait for an assignment again.
  void open();
  // Closes the roster for an attempt: members without a link lose their seats.
  void close();
  bool is_open() const { return open_; }
  // Returns the first member if its --max-restarts differs from that in `join`, otherwise null. The
  // first member's number applies.
  const model::Join* with_other_max_restarts(const model::Join& join) const;
  // Returns the member with the same node rank or index as `join`. Null: there is no such member,
  // or `join` has no node rank and no index.
  const Node* holder_of_slot(const model::Join& join) const;

  Node* find(const std::string& agent);
  const Node* find(const std::string& agent) const;
  const Nodes& nodes() const { return nodes_; }
  // Returns the members' ids in the order of joining. After close(), each of these members has an
  // open link to the root.
  std::vector<std::string> members() const;

  const Size& size() const { return size_; }
  int seated() const { return static_cast<int>(seats_.size()); }
  // The number of members with links.
  int present() const { return present_; }
  bool full() const { return present_ == size_.most; }
  bool enough() const { return present_ >= size_.least; }
  // Returns the spare nodes that are connected to the root and could become members, in the order
  // in which they joined, at most `most` of them.
  std::vector<Node*> candidates(std::size_t most = SIZE_MAX) const;
  // How many of the connected agents could take part in the next attempt if those for which
  // `leaves` is true had left.
  int able_without(const std::function<bool(const Node&)>& leaves) const;
  // The number of spares that open() would admit.
  int newcomers() const;
  // Gives the seats of the members `out` to as many spares `in` from candidates(). Called while an
  // attempt is arranged.
  void exchange(const std::vector<Node*>& out, const std::vector<Node*>& in);
  // Returns the names in `all` (the list from an engine such as Slurm) whose node has not joined.
  std::vector<std::string> missing(const std::vector<std::string>& all) const;

 private:
  // Identifies a seat (a member's place in the job), so that two members never have the same seat.
  // The first number is the fixed node rank, else the engine's index of the node, else the engine's
  // number of the process. The second number is the local rank, if srun or mpirun started the
  // ranks.
  using Slot = std::pair<int, std::optional<int>>;
  std::optional<Slot> slot_of(const model::Join& join) const;
  std::optional<model::Refused> conflict(const model::Join& join) const;
  bool seat(Node& node);
  void leave_seat(Node& node);

  Size size_;
  bool open_ = true;
  bool begun_ = false;  // close() was called once, so newcomers are now late
  Nodes nodes_;
  std::map<std::uint64_t, Node*> seats_;   // members, in the order of joining
  std::map<std::uint64_t, Node*> spares_;  // spares with and without links
  std::map<Slot, Node*> slots_;            // the members' slots
  int present_ = 0;
  std::uint64_t arrivals_ = 0;
};

}  // namespace toprun::run
