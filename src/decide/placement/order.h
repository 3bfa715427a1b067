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

// A node of the job. Hosts are in the order in which they were given.
struct Host {
  std::string name;
  int nproc = 1;  // number of processes, ≥ 0
};

// A node in rank order.
struct Node {
  std::string name;
  std::size_t index = 0;        // among the given hosts
  topology::Location location;  // its path is as long as the placement's levels
  bool placed = false;          // whether any level of its path is known
  int first_rank = 0;
  int nproc = 1;
};

// The cost of an order at one level. The nodes form a ring: each is connected to the next, the last
// to the first. A pair crosses if its two nodes are in different domains of that level. A node with
// an unknown domain is alone in its own domain. One node is not a ring (0); two nodes form a ring
// of two pairs.
struct Crossings {
  std::string level;
  std::size_t given = 0;    // in the order of the given hosts
  std::size_t ordered = 0;  // in the placement's order
  std::size_t minimum = 0;  // in any order: the number of domains, 0 if there is only one
};

struct Placement {
  std::string source;
  std::vector<std::string> levels;    // outermost first
  std::vector<Node> nodes;            // by first_rank
  std::vector<Crossings> ring;        // one per level
  std::vector<std::string> unplaced;  // nodes without evidence, in the order of `nodes`
  std::vector<std::string> spare;     // hosts that are not used, in the given order
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // from the map: the source of each fact
  std::optional<Mapping> mapping = {};  // the quality of a plan's order, without its nodes
  // Filled on request (explain.h); the code that makes a decision adds its reason.
  std::vector<std::string> explanation = {};  // for the order as a whole
  std::vector<std::string> node_explanations =
      {};  // parallel to `nodes`, "" for those not requested; or empty
};

enum class Order {
  topology,  // every domain's nodes in a row, at all levels at the same time
  name,      // natural order of the names
  torchrun,  // order of torchrun's c10d rendezvous: the names as strings, n10 before n2
  given,
};

// The requirements for an order in addition to the network.
struct Wishes {
  Order order = Order::topology;
  // For Order::topology only:
  std::size_t segment = 1;  // keep whole groups of this many nodes together
  std::size_t nodes = 0;    // number of needed nodes, the others are spare (spares.h); 0: all
  std::unordered_set<std::size_t> fixed = {};  // … these hosts among them
  std::optional<Plan> plan = {};         // keeps ranks with much mutual traffic near each other
  std::vector<std::string> before = {};  // an earlier order of the job to keep (stable.h)
};

// Orders the hosts. Order::topology sorts domains in natural order of their names (in a torus or
// ring by their seats, path.h); then come nodes without a domain at the level, then those with an
// unknown domain. Inside the innermost domain, nodes are in natural order of their names; nodes
// without evidence come last, as given. So `ordered` equals `minimum` at every level at the same
// time, whatever is known: domains are nested, so sorting by the innermost also puts the nodes of
// each outer domain in a row. A ring leaves a domain whose nodes are in a row exactly once, which
// is the minimum if there is a second domain. A node in an unknown domain is alone in it, so it is
// a row in any order.
//
// Finds each host by name in the map (topology::locate returns one with the hosts' own names). Two
// hosts with one name (two agents on one host) both have its place. Hosts that are only in the map
// are ignored. Takes O(n log n). Errors: a negative nproc, more than 2³¹−1 ranks.
//
// `segment` > 1: Order::topology puts the nodes into segments of this size (segments.h), which may
// raise `ordered` above `minimum`; a warning names the nodes in segments that no single innermost
// domain contains.
//
// With a `plan`, Order::topology is the order with the best traffic for it (map_slots()), which may
// also raise `ordered`; warnings name the groups that cannot stay inside a domain, and the reason.
// Errors: those of prepare(), a segment together with a plan, fewer hosts than `nodes`.
Result<Placement> place(const std::vector<Host>& hosts, topology::Map map,
                        const Wishes& wishes = {});

// The same with an order from the user: the text of a file with host names, one name or hostlist
// per line, "#" starts a comment; or a form that `topo order --format` prints for other programs:
// "HOST slots=N", "rank N=HOST slot=K", one line per rank, a JSON list of names. Names match as in
// topology::match_hosts. Errors (`file`:line:column): a malformed list, a duplicate host, a name
// that is not in the job, a missing host of the job (the message names it).
Result<Placement> place_as_listed(const std::vector<Host>& hosts, topology::Map map,
                                  std::string_view text, const std::string& file);

// The hosts in such a text in their order. Errors: those of place_as_listed() that depend only on
// the text.
Result<std::vector<std::string>> read_order(std::string_view text, const std::string& file);

}  // namespace toprun::placement
