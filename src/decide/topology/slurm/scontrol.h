#pragma once

#include "decide/topology/source.h"

namespace toprun::topology {

// Parses the output of `scontrol show topology` (format: conf.h). A text without switches and
// blocks ("No topology information available", a flat network) results in a map without hosts.
Result<Map> parse_scontrol_topology(std::string_view text);

// Runs `scontrol show topology`; nullopt if Slurm has no topology. Blocks at most for the request's
// budget.
Result<std::optional<Map>> read_scontrol_topology(const Request& request);

}  // namespace toprun::topology
