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

// Explains in words an order that Order::topology has made. `placement.explanation` describes the
// source of the nodes' locations, the cost of each level, unknown facts, and segments that no
// domain contains. `placement.node_explanations` says why each node, or only `question.node`, has
// its position. In a large job, `node_explanations` is empty, and `explanation` has a line per
// domain. Names are not escaped.
void explain(placement::Placement& placement, const Question& question);

// Returns the explanation that explain() has added, as lines without control characters
// (printable()).
std::string explanation_text(const placement::Placement& placement);

}  // namespace toprun::report
