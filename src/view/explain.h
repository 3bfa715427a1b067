#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "placement/order.h"

namespace toprun::view {

// What is to be explained.
struct Question {
  std::string_view topology = "auto";  // what the source was asked for by, as --topology takes it
  std::size_t segment = 1;             // as in the wishes
  std::optional<std::size_t> node{};   // position in the placement; nullopt: all
};

inline constexpr std::size_t max_explained_nodes = 128;   // with more, by domain
inline constexpr std::size_t max_explained_domains = 64;  // with more, by those around them

// Says in words why an order of Order::topology is as it is: which source says where the nodes are,
// what each level costs, what is not known, which segments no domain holds
// (`placement.explanation`), and why each node, or the one that the question names, is where it is
// (`placement.node_explanations`); in a large job one line per domain in its place. Names are as
// they were given, with whatever is in them.
void explain(placement::Placement& placement, const Question& question);

// All of it as lines; names as printable() shows them.
std::string explanation_text(const placement::Placement& placement);

}  // namespace toprun::view
