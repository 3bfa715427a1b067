#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/allocation.h"

namespace toprun::engines {

// Nodes in one variable of a launcher of ours: "n0=4,n1", a number where the processes are known.
std::string node_list_text(std::span<const Node> nodes);
Result<std::vector<Node>> parse_node_list(std::string_view variable, std::string_view text);

// Counts in Slurm's form, runs of equal ones joined, as in SLURM_TASKS_PER_NODE: "8(x4),2".
std::string count_list_text(std::span<const int> counts);

}  // namespace toprun::engines
