#include <algorithm>

#include "fabric/as_needed.h"
#include "fabric/nccl_conf.h"
#include "fabric/settings.h"

namespace toprun::fabric {
namespace {

// Whether the decisions, and what is said of the user's settings, need each entry of the tables.
bool needs_whole_tables(const NodeFabric& node) {
  constexpr const char* index = "NCCL_IB_GID_INDEX";
  const bool is_named = node.environment.has(index) ||
                        std::ranges::find(node.nccl_conf, index, &FileSetting::name) !=
                            node.nccl_conf.end();
  return is_named || !node.nccl || *node.nccl < first_that_bears_hidden_types;
}

// The node's settings and interfaces.
NodeFabric begun(const Sysfs& sysfs, const Environment& environment) {
  NodeFabric node;
  node.environment = environment;
  node.nccl_conf = read_nccl_conf(sysfs, environment);
  node.interfaces = read_interfaces(sysfs);
  return node;
}

// Adds what follows from devices and interfaces, and the profile.
NodeFabric completed(NodeFabric node, const Sysfs& sysfs, std::string_view profile_name) {
  node.choice = choose_ports(node.devices, node.interfaces);
  node.profile =
      profile_name.empty() ? detect_profile(sysfs, node.devices) : find_profile(profile_name);
  for (const Interface& interface : node.interfaces) {
    if (interface.has_default_route) node.route = {interface.name, "the default route"};
  }
  if (node.profile == nullptr) return node;
  node.absent_mark = absent_mark(*node.profile, sysfs, node.devices);
  for (const ProfileVariable& variable : node.profile->variables) {
    const std::string condition(variable.only_with);
    if (!condition.empty() && !sysfs.exists(condition)) continue;
    node.profile_settings.push_back({std::string(variable.name), std::string(variable.value)});
  }
  return node;
}

}  // namespace

NodeFabric read_node(const Sysfs& sysfs, const Environment& environment,
                     std::string_view profile_name) {
  NodeFabric node = begun(sysfs, environment);
  node.devices = read_devices(sysfs);
  return completed(std::move(node), sysfs, profile_name);
}

NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name,
                               const std::optional<NcclVersion>& nccl) {
  NodeFabric node = begun(sysfs, environment);
  node.nccl = nccl;
  node.devices = needs_whole_tables(node) ? read_devices(sysfs)
                                          : read_devices_as_needed(sysfs, node.interfaces);
  return completed(std::move(node), sysfs, profile_name);
}

}  // namespace toprun::fabric
