#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decide/placement/order.h"

namespace toprun::report {

// The description of a network as text in another program's format. The text does not contain hosts
// whose innermost switch is unknown: `left_out` lists these hosts.
struct Converted {
  std::string text;
  std::vector<std::string> left_out;
};

// A format in which other programs read a network. To add a format, add a function and a row in
// convert.cc.
struct NetworkForm {
  std::string_view name;  // the value of --to
  std::string_view help;  // one phrase
  Converted (*convert)(const placement::Placement&);
};

// Returns the formats:
// topology.conf   Slurm's topology/tree: a switch for each domain except NVLink domains
// topology.yaml   the same switches, and NVLink domains as the blocks of a second topology (Slurm
//                 25.05 and later)
// labels          Kubernetes nodes with topograph's labels: fabric.topograph.run/tier-0 for the
//                 innermost level, accelerator.topograph.run/domain for NVLink domains
// toprun can read all of them. Invalid names are changed: in Slurm, each switch needs a unique
// name; labels have at most 63 letters, digits, "-", "_" and ".". The placement must have
// Order::topology.
std::span<const NetworkForm> network_forms();

}  // namespace toprun::report
