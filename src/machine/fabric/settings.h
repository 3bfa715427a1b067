#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
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
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// Decides on the environment variables for the network of a node's workers (NCCL, Gloo and UCX),
// and gives a reason for each. The function decide() is pure: all its input is in `NodeFabric`.

struct NcclVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const NcclVersion&) const = default;
};
// Parses "2.27.3", "2.27", "2.21.5+cuda12.4". nullopt: another form.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string text_of(const NcclVersion& version);

enum class SettingSource : std::uint8_t {
  user,     // the user's environment
  file,     // an nccl.conf
  rule,     // toprun's own rules
  profile,  // the fabric's profile
  unset,    // not set by toprun
};
std::string_view name_of(SettingSource source);  // "left alone"

struct Setting {
  std::string name;
  std::optional<std::string> value;  // nullopt: not set
  SettingSource source = SettingSource::unset;
  std::string reason;  // for `file` and `profile`, begins with the file's path or the profile's
                       // name
};

// A variable in nccl.conf, and the file that contains it.
struct FileSetting {
  std::string name, value, file;
};

// A variable that a profile sets on this node. The setting comes from the profile's table or
// script.
struct ProfileSetting {
  std::string name, value;
};

// A change that a profile's script made to an environment variable: its value before and after.
// nullopt: the variable is not set.
struct ScriptChange {
  std::string name;
  std::optional<std::string> before, after;
};

// The interface through which this node reaches the other nodes.
struct Route {
  std::string interface;  // empty: unknown
  std::string reason;     // "the default route"
};

struct NodeFabric {
  std::vector<Device> devices;
  std::vector<Interface> interfaces;
  bool has_no_device = false;  // true only if this is certain: /sys is readable and contains no
                               // RDMA device
  Choice choice;
  std::optional<NcclVersion> nccl{};  // nullopt: unknown
  Route route;
  // True: other hosts cannot reach this host by its name, as with Debian's 127.0.1.1 (see
  // resolves_to_one_of() in base/net/resolve.h). Gloo would then bind to an address that no other
  // host can reach.
  bool own_name_leads_astray = false;
  Environment environment;  // the user's environment
  std::vector<FileSetting> nccl_conf;
  bool has_unread_conf = false;      // an nccl.conf did not answer in time, or is too large
  const Profile* profile = nullptr;  // null: a generic network
  std::vector<ProfileSetting> profile_settings{};
  std::vector<ScriptChange> script_changes{};  // sorted by name; empty until the profile's script
                                               // was sourced
  std::string absent_mark{};  // for a profile that the user requested, the missing clue:
                              // "/sys/class/cxi is not there"

  // Variables that name files, each with the file's fault: "this machine has no file /x". Only
  // look_at_files() looks. Also files and lines of nccl.conf, "/etc/nccl.conf:3", with their
  // faults.
  std::vector<ProfileSetting> unusable_files{};

  const Port& port_of(const PortVerdict& verdict) const {
    return devices[verdict.device].ports[verdict.port];
  }
};

// Reads the node's /sys, /proc and /etc: devices, interfaces, chosen ports, nccl.conf and profile.
// `profile_name` has to be one of profiles(); if it is empty, the profile is detected by its clues.
// NodeFabric::route is set to the default route.
NodeFabric read_node(const Sysfs& sysfs, const Environment& environment,
                     std::string_view profile_name = {});

// access(2): returns 0, or the error. ETIMEDOUT: there was no answer in time.
using Look = std::function<int(const std::string& path, int mode)>;

// Returns why the file that a setting names cannot be used; empty: no fault is known. NCCL creates
// a file for its output (`is_output`) if the file does not exist. A relative path belongs to a
// job's folder, which is unknown. NCCL expands no "~".
std::string file_fault(std::string_view path, bool is_output, const Look& look);

// How long a file is waited for, whose file server may be down. Below the two seconds for which a
// launch waits for all of a node's files.
inline constexpr std::chrono::milliseconds look_limit{1'500};

// Adds to NodeFabric::unusable_files. Waits look_limit at most for each file.
void look_at_files(NodeFabric& node, const std::filesystem::path& root);

// Sets the node's route. Also reads the speed of the route's interface if decide() depends on this
// speed.
void take_route(NodeFabric& node, Route route, const Sysfs& sysfs);

// Returns each variable that toprun decides on, in a fixed order, with the reason why toprun sets
// it or does not set it. Then the profile's other variables follow, sorted by name. decide() does
// not change values that the user or an nccl.conf has set. A profile has priority over toprun's own
// rules, unless its value is wrong on this node. Call decide() only for a job on several nodes,
// because NCCL needs no network within one node.
std::vector<Setting> decide(const NodeFabric& node);

// Returns a copy of `node` without the user's settings and nccl.conf. For this copy, decide()
// returns what toprun would set by itself.
NodeFabric without_own(const NodeFabric& node);

// Whether toprun has to set this variable in the workers' environment.
bool is_ours(const Setting& setting);

// Describes the node's RDMA hardware in words that can be compared between nodes: "8 RoCE ports of
// 400 Gb/s", "7 InfiniBand ports of 400 Gb/s (mlx5_3 is down)", "no RDMA".
std::string summary_of(const NodeFabric& node);

// Returns why NCCL would use plain sockets on this node: no usable port, or a setting. Returns
// nullopt if NCCL uses RDMA, or the transport of the node's profile.
std::optional<std::string> why_no_rdma(const NodeFabric& node);

// Returns settings of the user or of an nccl.conf that cannot be intended on this node, one
// sentence each; a launch warns about them. Settings are mistakes if they switch RDMA off; if their
// devices or GIDs do not exist or are unsuitable; if their ports have another purpose; if a
// requested fabric's clues are missing; if values are in quotes; if NCCL fails with a value; or if
// NCCL does not know a name.
std::vector<std::string> mistakes(const NodeFabric& node);
// Returns the mistakes that also matter in a job on one node: interfaces in NCCL_SOCKET_IFNAME or
// GLOO_SOCKET_IFNAME that the machine lacks.
std::vector<std::string> absent_interfaces(const NodeFabric& node);

// Returns settings of the user or of an nccl.conf that are probably not meant, one sentence each:
// values that NCCL ignores or reads in another way than their text suggests (NCCL_DEBUG=debug,
// NCCL_IB_DISABLE=true, NCCL_BUFFSIZE=8M), numbers outside of the range in NCCL's user guide
// (NCCL_CROSS_NIC=3), and names that resemble a network of NCCL's own (NCCL_NET=Sockets).
// contradictions() omits them.
std::vector<std::string> without_effect(const NodeFabric& node);

// Returns all mistakes(), files that cannot be used (a container may have other files than the
// machine), and other settings that differ from what decide() would set.
std::vector<std::string> contradictions(const NodeFabric& node);

// Faster variants of the functions that read the network. A launch waits for these functions, and a
// large machine has some thousand files to read. These variants read only the data that
// choose_ports(), decide(), mistakes(), why_no_rdma() and summary_of() use. Those five functions
// return the same results as if all data were read. Data that is only for messages and tables is
// not read.

// `named_gid`: the index of an entry that is read from each GID table in any case, because a
// setting names it.
std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces,
                                           std::optional<int> named_gid);

// Like read_node().
NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name);

// Reads the variables that NCCL itself reads from files if the environment does not contain them.
// The first file is the one that NCCL_CONF_FILE names, else ~/.nccl.conf. The second file is
// /etc/nccl.conf. If both files set a name, the first file has priority (NCCL: src/misc/param.cc).
// Waits look_limit at most for each file.
void read_nccl_conf(NodeFabric& node, const Sysfs& sysfs);
inline constexpr std::size_t max_nccl_conf_bytes = 64u << 10;

// Adds the lines of a file to `node` as NCCL reads them: lines that begin with '#' and lines
// without '=' are skipped; blanks are a part of the name or of the value; of several lines with the
// same name, the first has priority. Lines without effect are added to NodeFabric::unusable_files.
void add_nccl_conf(NodeFabric& node, std::string_view text, const std::string& file);

// Whether a job on several machines uses one of this machine's network interfaces.
struct InterfaceUse {
  std::optional<bool> is_used;  // nullopt: this depends on the job's other machines
  std::string why;              // the reason, as a phrase
};

InterfaceUse use_of(const NodeFabric& node, const Interface& interface);

}  // namespace toprun::fabric
