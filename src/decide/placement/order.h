#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/text/error.h"
#include "decide/placement/mapping.h"
#include "decide/placement/plan.h"
#include "decide/topology/tree.h"

namespace toprun::placement {

// A node of the job.
struct Host {
  std::string name;
  int nproc = 1;  // number of processes, ≥ 0
};

// A node in rank order.
struct Node {
  std::string name;
  std::size_t index = 0;        // among the given hosts
  topology::Location location;  // its path has as many entries as the placement has levels
  bool placed = false;          // whether any level of its path is known
  int first_rank = 0;
  int nproc = 1;
};

// The cost of an order at one level. The nodes form a ring: each is connected to the next, the last
// to the first. A pair crosses if its two nodes are in different domains of that level. A node with
// an unknown domain is alone in its own domain. One node has no pairs; two nodes form a ring of two
// pairs.
struct Crossings {
  std::string level;
  std::size_t given = 0;    // in the order of the given hosts
  std::size_t ordered = 0;  // in the placement's order
  std::size_t minimum = 0;  // the lowest number that is possible: the number of domains, 0 if there
                            // is only one
};

struct Placement {
  std::string source;
  std::vector<std::string> levels;    // outermost first
  std::vector<Node> nodes;            // by first_rank
  std::vector<Crossings> ring;        // one per level
  std::vector<std::string> unplaced;  // nodes whose place is unknown, in the order of `nodes`
  std::vector<std::string> spare;     // hosts that are not used, in the given order
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // from the map: the source of each of its facts
  // For a job with a plan: the quality of the order. Mapping::nodes is empty, because `nodes` has
  // the order.
  std::optional<Mapping> mapping = {};
  // Filled only if the user asks for reasons (explain.h): each function that makes a decision adds
  // its reason.
  std::vector<std::string> explanation = {};  // for the order as a whole
  std::vector<std::string> node_explanations =
      {};  // one text for each of `nodes`, "" if no text was requested; or empty
};

enum class Order {
  topology,  // at every level, the nodes of each domain are consecutive
  name,      // natural order of the names
  torchrun,  // order of torchrun's c10d rendezvous: the names as strings, n10 before n2
  given,
};

// Requirements for the node order that the user sets, in addition to the network's topology.
struct Constraints {
  Order order = Order::topology;
  // Used only for Order::topology:
  std::size_t segment = 1;  // this many consecutive nodes should be in one innermost domain
                            // (segments.h)
  std::size_t nodes = 0;    // how many nodes the job needs; the other nodes are spare (segments.h);
                            // 0: all
  std::unordered_set<std::size_t> fixed = {};  // hosts that must not become spare
  std::optional<Plan> plan = {};               // puts ranks that exchange much data near each other
  std::vector<std::string> before = {};  // the job's previous order; as many nodes as possible keep
                                         // their positions (segments.h)
};

// Orders the hosts. Order::topology sorts the domains of a level by the natural order of their
// names (in a torus or ring, by Path::seat()). After these domains come the nodes without a domain
// at that level, then the nodes with an unknown domain. Inside an innermost domain, nodes are
// sorted by the natural order of their names. Nodes without any known level come last, in the order
// of `hosts`.
//
// So in Crossings, `ordered` equals `minimum` at all levels. Domains are nested, so sorting by the
// innermost domain also makes the nodes of each outer domain consecutive. A ring leaves a domain
// with consecutive nodes exactly once, which is the minimum if there are at least two domains. A
// node in an unknown domain is alone in its own domain, so no order can split that domain.
//
// Finds each host by name in the map (topology::locate returns a map with the hosts' own names). If
// two hosts have the same name (two agents on one host), both have the same place. Hosts that are
// only in the map are ignored. Takes O(n log n). Errors: a negative nproc, more than 2³¹−1 ranks.
//
// If `segment` is above 1, Order::topology puts the nodes into segments of this size (segments.h).
// Segments may raise `ordered` above `minimum`. If a segment is not inside one innermost domain, a
// warning names its nodes.
//
// If `plan` is set, Order::topology is the best order for the plan's traffic (map_slots()).
// Exception: if `before` (the job's previous order) is not empty, as many nodes as possible keep
// their positions. A plan may also raise `ordered` above `minimum`. Warnings name the groups that
// cannot stay inside a domain, and the reason. Errors: those of prepare(), a segment together with
// a plan, fewer hosts than `nodes`.
Result<Placement> place(const std::vector<Host>& hosts, topology::Map map,
                        const Constraints& constraints = {});

// Like place(), with an order from the user. The text is one of these:
//   - host names or hostlists, one per line; "#" starts a comment;
//   - a form that `topo order --format` prints for other programs: "HOST slots=N",
//     "rank N=HOST slot=K", one line per rank, a JSON list of names.
// Names match as in topology::match_hosts. Errors (`file`:line:column): a malformed list; a
// duplicate host; a name that is not in the job; a host of the job that is not in the list (the
// message names this host).
Result<Placement> place_as_listed(const std::vector<Host>& hosts, topology::Map map,
                                  std::string_view text, const std::string& file);

// Returns the hosts in a text for place_as_listed(), in their order. Errors: those of
// place_as_listed() that depend only on the text.
Result<std::vector<std::string>> read_order(std::string_view text, const std::string& file);

}  // namespace toprun::placement
