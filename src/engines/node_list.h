#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/allocation.h"

namespace toprun::engines {

// The text in which toprun's launchers pass the nodes in one variable: "n0=4,n1" (4 processes on
// n0). An unknown number is left out.
std::string node_list_text(std::span<const Node> nodes);
Result<std::vector<Node>> parse_node_list(std::string_view variable, std::string_view text);

// Counts in Slurm's form, as in SLURM_TASKS_PER_NODE: "8(x4),2" is 8 8 8 8 2.
std::string count_list_text(std::span<const int> counts);

}  // namespace toprun::engines
