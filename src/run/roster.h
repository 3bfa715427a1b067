#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rendezvous/messages.h"

namespace toprun::run {

// How many agents make a job; ranks that are started in place count one by one.
struct Size {
  int least = 1;
  int most = 1;
  // An agent can take the place of one that was lost: newcomers beyond `most` wait as spares.
  bool repairable = false;
  // Two may have the same node rank: it only says which one they would like (arrange() decides).
  bool ranks_are_wishes = false;
};

// One agent as the root sees it.
//
//   admitted --its link is there--> waiting, or spare where no seat is free
//   waiting --assigned--> preparing --ready--> ready --all are--> running --no worker left--> gone
//   spare, preparing … gone --the next attempt's gathering--> waiting
//   any with a link --link lost--> lost;  --told to finish--> leaving;  both are forgotten in the
//   end
enum class NodeState { admitted, spare, waiting, preparing, ready, running, gone, lost, leaving };

struct Node {
  // First what is looked at with each message: of a hundred thousand nodes, few are in a cache.
  NodeState state = NodeState::admitted;
  bool has_seat = false;              // a member of the job; lost and leaving ones are not
  std::optional<std::size_t> part{};  // its index in the attempt that runs
  std::optional<int> leaves_by{};     // the signal by which its agent alone was told to end
  std::uint64_t came = 0;             // counts all
  std::string address;                // where it dialled from; empty for the root's own process
  rendezvous::Join join;

  bool is_linked() const {
    return state != NodeState::admitted && state != NodeState::lost && state != NodeState::leaving;
  }
  bool is_own() const { return address.empty(); }
};

// All agents of a run, by the names that they give themselves; the one place that knows who is a
// member of the job and who waits as a spare; pure. A lookup costs O(1).
//
//   open --close()--> closed --open()--> open …
//   Open: a newcomer gets a seat while there is one, else it is a spare. Closed, while an attempt
//   runs: every newcomer is a spare. open() gives the free seats to those spares whose node rank,
//   if they have one, no member has.
class Roster {
 public:
  explicit Roster(Size size) : size_(size) {}

  // Takes the newcomer, or says why not.
  std::optional<rendezvous::Refused> admit(const rendezvous::Join& join);
  // Its link is there: waiting or spare from now on.
  Node& arrived(const std::string& agent, std::string address);
  // It has no seat any more, but is still known; `state`: lost or leaving.
  void unseat(Node& node, NodeState state);
  void forget(const std::string& agent);
  void forget_the_lost();
  // Members wait for their parts again.
  void open();
  // Who has a seat but no link yet loses it.
  void close();
  bool is_open() const { return open_; }
  // The first member, whose --max-restarts counts, if this one names another number.
  const rendezvous::Join* at_odds_about_restarts(const rendezvous::Join& join) const;

  Node* find(const std::string& agent);
  const Node* find(const std::string& agent) const;
  const std::unordered_map<std::string, std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // In the order of joining; with links, once closed.
  std::vector<std::string> members() const;

  const Size& size() const { return size_; }
  int seated() const { return static_cast<int>(seats_.size()); }
  // Members whose links are there.
  int present() const { return present_; }
  bool full() const { return present_ == size_.most; }
  bool enough() const { return present_ >= size_.least; }
  // How many of the spares open() would take in.
  int newcomers() const;
  // The names of those of `all` (the engine's list) of which no member has come; none if `all` is
  // empty.
  std::vector<std::string> missing(const std::vector<std::string>& all) const;

 private:
  // A node rank or, where none is fixed, an engine's index; and the local rank of a rank in place.
  // Or an engine's number of the process.
  using Place = std::pair<int, std::optional<int>>;
  std::optional<Place> place_of(const rendezvous::Join& join) const;
  std::optional<rendezvous::Refused> conflict(const rendezvous::Join& join) const;
  const Node* holder_of_place_of(const rendezvous::Join& join) const;
  bool seat(Node& node);
  void leave_seat(Node& node);

  Size size_;
  bool open_ = true;
  bool begun_ = false;  // it was closed once: who comes now comes late
  std::unordered_map<std::string, std::unique_ptr<Node>> nodes_;
  std::map<std::uint64_t, Node*> seats_;   // members, in the order of joining
  std::map<std::uint64_t, Node*> spares_;  // with and without links
  std::map<Place, Node*> places_;          // of members
  int present_ = 0;
  std::uint64_t came_ = 0;
};

}  // namespace toprun::run
