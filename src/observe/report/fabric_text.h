#pragma once

#include <span>
#include <string>

#include "machine/fabric/pci.h"
#include "machine/fabric/settings.h"

namespace toprun::report {

// Returns the output of `toprun net show` for a node: its RDMA ports and network interfaces, which
// of them a job uses, why the job does not use the others, and the settings of the user for them.
// For each port, the output names the nearest of the node's `gpus`.
std::string network_text(const fabric::NodeFabric& node, std::span<const fabric::PciPlace> gpus,
                         std::span<const std::optional<fabric::PciPlace>> places);

// Returns a table of the variables that a job's workers get on the node, with reasons. Lines before
// the table show the variables that the fabric profile's script changes: "NCCL_PROTO Simple ->
// LL128".
std::string settings_text(const fabric::NodeFabric& node,
                          std::span<const fabric::Setting> settings);

// Returns shell code: a line `export NAME=VALUE` for each variable that the user has not set
// already.
std::string settings_shell(std::span<const fabric::Setting> settings);

// Returns {"schema": "toprun.net_show/1", "devices": […], "interfaces": […], "env": {…}}.
std::string network_json(const fabric::NodeFabric& node, std::span<const fabric::Setting> settings);
// Returns {"schema": "toprun.net_env/1", "profile": …, "script": {path, changes: {NAME: {before,
// after}}}, "env": {NAME: {value, source, reason}}}. "script": null if no variable is changed.
std::string settings_json(const fabric::NodeFabric& node,
                          std::span<const fabric::Setting> settings);

}  // namespace toprun::report
