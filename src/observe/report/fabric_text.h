#pragma once

#include <span>
#include <string>
#include <vector>

#include "machine/fabric/pci.h"
#include "machine/fabric/settings.h"

namespace toprun::report {

// What `toprun net show` prints of a node: its RDMA ports and network interfaces, which of them a
// job uses and why not the others. `gpus`: the node's GPUs, for the
// distance of each port.
std::string network_text(const fabric::NodeFabric& node, std::span<const fabric::PciPlace> gpus,
                         std::span<const std::optional<fabric::PciPlace>> places);

// The variables that a job's workers get there, and why: a table; before it what the fabric's
// script changes, one variable a line: "NCCL_PROTO  Simple -> LL128".
std::string settings_text(const fabric::NodeFabric& node,
                          std::span<const fabric::Setting> settings);

// The same for a shell to read: `export NAME=VALUE` for what is not the user's own already.
std::string settings_shell(std::span<const fabric::Setting> settings);

// {"schema": "toprun.net_show/1", "devices": […], "interfaces": […], "env": {…}}.
std::string network_json(const fabric::NodeFabric& node, std::span<const fabric::Setting> settings);
// {"schema": "toprun.net_env/1", "profile": …, "script": {path, changes: {NAME: {before, after}}},
// "env": {NAME: {value, source, reason}}}; "script" is null where none changes anything.
std::string settings_json(const fabric::NodeFabric& node,
                          std::span<const fabric::Setting> settings);

}  // namespace toprun::report
