#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/order.h"

namespace toprun::view {

// The network as another program describes one, and the hosts that it has no words for: those of
// which the innermost switch is not known.
struct Converted {
  std::string text;
  std::vector<std::string> left_out;
};

// A form in which other programs read a network. To add one: a function and a row in convert.cc.
struct NetworkForm {
  std::string_view name;  // as --to takes it
  std::string_view help;  // one phrase
  Converted (*convert)(const placement::Placement&);
};

// topology.conf   Slurm's topology/tree: a switch for each domain but NVLink's
// topology.yaml   the same, and NVLink domains as the blocks of a second topology (25.05+)
// labels          Kubernetes' nodes with topograph's labels: fabric.topograph.run/tier-0 the
//                 innermost level, accelerator.topograph.run/domain for NVLink's
// All are read back as they are written. Names that a form does not allow are changed: in Slurm
// each switch needs one of its own, and labels have at most 63 letters, digits, "-", "_" and ".".
// The placement is one of Order::topology.
std::span<const NetworkForm> network_forms();

}  // namespace toprun::view
