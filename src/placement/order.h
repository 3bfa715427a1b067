#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "placement/mapping.h"
#include "placement/plan.h"
#include "topology/tree.h"

namespace toprun::placement {

// A node of the job, in the order in which it was given.
struct Host {
  std::string name;
  int nproc = 1;  // processes that it runs, ≥ 0
};

// A node in the order of its ranks.
struct Node {
  std::string name;
  std::size_t index = 0;        // among the given hosts
  topology::Location location;  // its path is as long as the placement's levels
  bool placed = false;          // whether any level of its path is known
  int first_rank = 0;
  int nproc = 1;
};

// What an order costs at one level. The nodes form a ring, each joined to the next and the last to
// the first; a pair crosses if its two nodes are not in the same domain of that level. A node whose
// domain is not known is alone in a domain of its own. One node is no ring (0); two form a ring of
// two pairs.
struct Crossings {
  std::string level;
  std::size_t given = 0;    // of the order in which the hosts were given
  std::size_t ordered = 0;  // of the placement's order
  std::size_t minimum = 0;  // of any order: as many as there are domains, 0 if there is one
};

struct Placement {
  std::string source;
  std::vector<std::string> levels;    // outermost first
  std::vector<Node> nodes;            // by first_rank
  std::vector<Crossings> ring;        // one per level
  std::vector<std::string> unplaced;  // nodes without evidence, in the order of `nodes`
  std::vector<std::string> spare;     // hosts that were left out, as given
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // of the map: which source told what
  std::optional<Mapping> mapping = {};  // what a plan's order is worth; its nodes left out
  // Filled on request (explain.h); whoever decides something adds its reason.
  std::vector<std::string> explanation = {};  // of the order as a whole
  std::vector<std::string> node_explanations =
      {};  // as `nodes`, "" for those not asked for; or none
};

enum class Order {
  topology,  // every domain's nodes in a row, at every level at once
  name,      // natural order of the names
  torchrun,  // that of torchrun's c10d rendezvous: the names as strings, n10 before n2
  given,
};

// What an order is to respect besides the network.
struct Wishes {
  Order order = Order::topology;
  // Of Order::topology only:
  std::size_t segment = 1;        // whole groups of so many nodes stay together
  std::size_t nodes = 0;          // so many are needed, the others are spare (spares.h); 0: all
  std::optional<Plan> plan = {};  // what ranks send to each other stays near
  std::vector<std::string> before = {};  // an earlier order of the job, to be kept (stable.h)
};

// Orders the hosts. Order::topology: domains in natural order of their names (of a torus and a ring
// in the order of their seats, path.h), nodes that have none of the level after them, then those
// whose domain is not known; nodes in natural order of their names inside the innermost domain,
// nodes without evidence last, as given. So `ordered` is `minimum` at every level at once, whatever
// is known: domains are nested, so that sorting by the innermost puts the nodes of each domain
// around it in a row too, and a ring leaves a domain whose nodes are in a row exactly once, which
// is the least as soon as there is a second one. A node of an unknown domain is alone in it, so it
// is a row in any order.
//
// Each host is looked up by name in the map (topology::locate gives one with the hosts' own names);
// two hosts of one name (two agents on one host) are both in its place. Hosts that only the map
// knows are ignored. Costs O(n log n). Error: a negative nproc, more than 2³¹−1 ranks.
//
// `segment` > 1: Order::topology puts the nodes into segments of so many (segments.h), for which
// `ordered` may be more than `minimum`; a warning names the nodes whose segment no single innermost
// domain holds.
//
// With a `plan`, Order::topology is the order that serves its traffic best (map_slots()), for which
// `ordered` may also be more; warnings say which groups cannot stay inside a domain and why.
// Errors: those of prepare(), a segment beside a plan, fewer hosts than `nodes`.
Result<Placement> place(const std::vector<Host>& hosts, topology::Map map,
                        const Wishes& wishes = {});

// The same with an order that the user wrote down: the text of a file with host names, one or a
// hostlist per line, "#" begins a comment; or in a form that `topo order --format` prints for other
// programs: "HOST slots=N", "rank N=HOST slot=K", a line for each rank, a JSON list of names. Names
// match as in topology::match_hosts. Error
// (`file`:line:column): a malformed list, a host twice, a name that is not the job's; a host of the
// job that is missing (named).
Result<Placement> place_as_listed(const std::vector<Host>& hosts, topology::Map map,
                                  std::string_view text, const std::string& file);

// The hosts of such a text in their order. Errors as of place_as_listed, as far as the text alone
// has them.
Result<std::vector<std::string>> read_order(std::string_view text, const std::string& file);

}  // namespace toprun::placement
