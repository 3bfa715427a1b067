#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "decide/placement/order.h"

namespace toprun::report {

// What an explanation has to contain.
struct Question {
  std::string_view topology = "auto";  // the --topology option that selected the source
  std::size_t segment = 1;             // Constraints::segment
  std::optional<std::size_t> node{};   // the node's position in the placement; nullopt: all nodes
};

inline constexpr std::size_t max_explained_nodes = 128;   // if there are more nodes: one line per
                                                          // domain
inline constexpr std::size_t max_explained_domains = 64;  // if there are more domains: one line per
                                                          // outer domain

// Explains an order of Order::topology in words. `placement.explanation` describes the source of
// the nodes' places, the cost of each level, unknown facts, and segments that no domain contains.
// `placement.node_explanations` gives the reason for the position of each node, or of the node in
// the question; in a large job, one line per domain replaces the lines of its nodes. Names are not
// escaped.
void explain(placement::Placement& placement, const Question& question);

// Returns the explanation that explain() has added, as lines with names in the form of printable().
std::string explanation_text(const placement::Placement& placement);

}  // namespace toprun::report
