#include "fabric/nccl_conf.h"
#include "fabric/settings.h"

namespace toprun::fabric {

NodeFabric read_node(const Sysfs& sysfs, const Environment& environment,
                     std::string_view profile_name) {
  NodeFabric node;
  node.environment = environment;
  node.devices = read_devices(sysfs);
  node.interfaces = read_interfaces(sysfs);
  node.choice = choose_ports(node.devices, node.interfaces);
  node.nccl_conf = read_nccl_conf(sysfs, environment);
  node.profile =
      profile_name.empty() ? detect_profile(sysfs, node.devices) : find_profile(profile_name);
  for (const Interface& interface : node.interfaces) {
    if (interface.has_default_route) node.route = {interface.name, "the default route"};
  }
  if (node.profile == nullptr) return node;
  for (const ProfileVariable& variable : node.profile->variables) {
    const std::string condition(variable.only_with);
    if (!condition.empty() && !sysfs.exists(condition)) continue;
    node.profile_settings.push_back({std::string(variable.name), std::string(variable.value)});
  }
  return node;
}

}  // namespace toprun::fabric
