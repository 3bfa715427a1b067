#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo …`; `arguments` are those behind "topo". So far:
//   toprun topo order [--topology FILE|slurm|auto] [--hosts LIST] [--nproc-per-node N] [--json]
// prints the job's nodes with their ranks as given and in topology order (stdout) and how many
// pairs of the node ring leave a domain, per level (stderr); with --json one object,
// toprun.topo_order/1. Hosts: --hosts, else the Slurm step or allocation, else all that the
// topology knows. Returns the exit code; an error is one line on stderr.
int run_topo(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
