#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/links.h"
#include "placement/order.h"

namespace toprun::placement {

inline constexpr double usual_message_bytes = 64 << 20;

// What a score counts with besides the hosts and their places.
struct Terms {
  Links links;  // of the map
  double message_bytes = usual_message_bytes;
  // An order that the user wrote down, to be scored beside the others; see place_as_listed().
  struct Listed {
    std::string file;
    std::string text;
  };
  std::optional<Listed> listed;
};

// What a collective costs in one order (cost.h).
struct Priced {
  double seconds = 0;
  struct Link {
    std::string level;
    std::string name;  // of the domain or host; "of n3" where the domain is not known
    std::size_t flows = 0;
    double bytes = 0;  // in one direction
    double seconds = 0;
  };
  std::optional<Link> worst;  // nothing: one node alone
};

// An order of a job's nodes: how many neighbours in its ring are in another domain, and what the
// collectives cost.
struct Scored {
  std::string_view name;               // given, name, torchrun, topology, file
  std::vector<std::size_t> crossings;  // one per level
  std::vector<Priced> priced;          // one per entry of `collectives`
};

// What the orders that a job could have are worth, side by side.
struct Score {
  std::string source;
  std::vector<std::string> levels;  // outermost first
  std::size_t nodes = 0;
  Terms terms;
  std::vector<Scored> orders;
  std::vector<std::size_t> minimum;  // of any order, one per level
  std::vector<double> least;         // seconds that no order is below, one per collective
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
};

// Errors: those of place() and place_as_listed().
Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map, Terms terms);

// Whether nobody told any link's figure, so that the times are those of a network which is not
// oversubscribed.
bool all_links_assumed(const Links& links);

}  // namespace toprun::placement
