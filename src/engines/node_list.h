#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/allocation.h"

namespace toprun::engines {

// Nodes in one variable of toprun's launchers: "n0=4,n1". The number is omitted where unknown.
std::string node_list_text(std::span<const Node> nodes);
Result<std::vector<Node>> parse_node_list(std::string_view variable, std::string_view text);

// Counts in Slurm's form, with equal neighbours joined, as in SLURM_TASKS_PER_NODE: "8(x4),2".
std::string count_list_text(std::span<const int> counts);

}  // namespace toprun::engines
