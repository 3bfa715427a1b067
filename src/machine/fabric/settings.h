#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "machine/fabric/choice.h"
#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"
#include "machine/fabric/profiles.h"

namespace toprun::fabric {

// What a node's workers get in their environment so that NCCL, Gloo and UCX use the right network,
// and why. Pure: everything that is read comes in `NodeFabric`.

struct NcclVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const NcclVersion&) const = default;
};
// "2.27.3", "2.27", "2.21.5+cuda12.4". nullopt: another form.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string text_of(const NcclVersion& version);

enum class SettingSource : std::uint8_t {
  user,     // of the environment
  file,     // an nccl.conf
  rule,     // ours
  profile,  // the fabric's
  nobody,   // left alone
};
std::string_view name_of(SettingSource source);  // "left alone"

struct Setting {
  std::string name;
  std::optional<std::string> value;  // nullopt: not set
  SettingSource source = SettingSource::nobody;
  std::string reason;  // for a file its path, for a profile its name first
};

// A variable of nccl.conf, and which file has it.
struct FileSetting {
  std::string name, value, file;
};

// What a profile sets here: a variable of its table, or one that its script has set.
struct ProfileSetting {
  std::string name, value;
};

// What a profile's script did to a variable of the environment that it was given. nullopt: unset.
struct ScriptChange {
  std::string name;
  std::optional<std::string> before, after;
};

// The interface by which this node reaches the others.
struct Route {
  std::string interface;  // empty: unknown
  std::string reason;     // "the default route"
};

struct NodeFabric {
  std::vector<Device> devices;
  std::vector<Interface> interfaces;
  bool has_no_device = false;  // known for sure: /sys can be read and has none for RDMA
  Choice choice;
  std::optional<NcclVersion> nccl{};  // nullopt: unknown
  Route route;
  // The host's own name leads to none of its addresses, as Debian's 127.0.1.1: Gloo would bind
  // where no other host reaches it.
  bool own_name_leads_astray = false;
  Environment environment;  // the user's
  std::vector<FileSetting> nccl_conf;
  const Profile* profile = nullptr;  // null: a generic network
  std::vector<ProfileSetting> profile_settings{};
  std::vector<ScriptChange> script_changes{};  // by name; the profile's script has been sourced
  std::string absent_mark{};  // of a profile that was asked for: "/sys/class/cxi is not there"

  const Port& port_of(const PortVerdict& verdict) const {
    return devices[verdict.device].ports[verdict.port];
  }
};

// What the node's /sys, /proc and /etc tell: devices, interfaces, choice, nccl.conf and profile; by
// `profile_name` if it is given, which has to be one of profiles(), else by the profiles' clues.
// The route is the default one.
NodeFabric read_node(const Sysfs& sysfs, const Environment& environment,
                     std::string_view profile_name = {});

// Gives the node another route. Reads the speed of its interface where decide() depends on it.
void take_route(NodeFabric& node, Route route, const Sysfs& sysfs);

// Each variable that toprun decides on, in a fixed order, set or left alone with the reason. What
// the user or an nccl.conf sets stays; a profile goes before our own rules, unless what it sets is
// wrong on this node. After them the profile's other variables, by their names. For a job of more
// than one node: within one NCCL needs no network.
std::vector<Setting> decide(const NodeFabric& node);

// True for what toprun has to put into the environment.
bool is_ours(const Setting& setting);

// What the node has for RDMA, in words by which nodes can be compared: "8 RoCE ports of 400 Gb/s",
// "7 InfiniBand ports of 400 Gb/s (mlx5_3 is down)", "no RDMA".
std::string summary_of(const NodeFabric& node);

// Why NCCL would communicate over plain sockets on this node: no port that can be used, or a
// setting. nullopt: it uses RDMA, or the transport of the node's profile.
std::optional<std::string> why_no_rdma(const NodeFabric& node);

// What the user or an nccl.conf sets and cannot be meant here: RDMA switched off, devices or GIDs
// that are not there or lead nowhere, ports that serve something else, a fabric without its
// marks, values in quotes, names that NCCL does not know. One sentence each; a launch
// warns of them.
std::vector<std::string> mistakes(const NodeFabric& node);

// These, and values that are only others than decide() would set.
std::vector<std::string> contradictions(const NodeFabric& node);

}  // namespace toprun::fabric
