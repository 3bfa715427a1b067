#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "base/text/text.h"
#include "machine/fabric/settings.h"
#include "machine/stacks/within.h"

namespace toprun::fabric {
namespace {

// The value that the user or an nccl.conf sets.
std::optional<std::string> own_value(const NodeFabric& node, std::string_view name) {
  if (auto value = node.environment.get(name)) return value;
  const auto of_file = std::ranges::find(node.nccl_conf, name, &FileSetting::name);
  return of_file == node.nccl_conf.end() ? std::nullopt : std::optional(of_file->value);
}

std::optional<int> named_gid(const NodeFabric& node) {
  const auto value = own_value(node, "NCCL_IB_GID_INDEX");
  const auto index = value ? parse_int(*value) : std::nullopt;
  const bool is_valid = index && *index >= 0 && *index < static_cast<std::int64_t>(max_gids);
  return is_valid ? std::optional(static_cast<int>(*index)) : std::nullopt;
}

constexpr const char* device_folder = "sys/class/infiniband";

// A folder that cannot be opened may hold anything.
bool is_empty_or_absent(const Sysfs& sysfs, const std::string& folder) {
  if (!sysfs.exists(folder)) return true;
  return sysfs.folder(folder) && sysfs.names(folder).empty();
}

// Adds what follows from devices and interfaces, and the profile.
NodeFabric completed(NodeFabric node, const Sysfs& sysfs, std::string_view profile_name) {
  node.has_no_device = !node.interfaces.empty() && is_empty_or_absent(sysfs, device_folder);
  node.choice = choose_ports(node.devices, node.interfaces);
  node.profile =
      profile_name.empty() ? detect_profile(sysfs, node.devices) : find_profile(profile_name);
  for (const Interface& interface : node.interfaces) {
    if (interface.has_default_route) take_route(node, {interface.name, "the default route"}, sysfs);
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

// "8 RoCE ports of 400 Gb/s, 1 of 200 Gb/s", fastest first.
std::string chosen_ports(const NodeFabric& node) {
  std::map<double, int, std::greater<>> by_rate;
  for (const PortVerdict& verdict : node.choice.ports) {
    if (verdict.is_chosen()) ++by_rate[node.port_of(verdict).rate_gbps];
  }
  const char* const link = node.choice.layer == LinkLayer::infiniband ? "InfiniBand" : "RoCE";
  std::string text;
  for (const auto& [rate, count] : by_rate) {
    const std::string what =
        text.empty() ? fmt::format(" {} {}", link, count == 1 ? "port" : "ports") : "";
    text += fmt::format("{}{}{} of {:g} Gb/s", text.empty() ? "" : ", ", count, what, rate);
  }
  return text;
}

// The ports of the used link layer that are not active.
std::string inactive_ports(const NodeFabric& node) {
  std::vector<std::string> texts;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Port& port = node.port_of(verdict);
    if (port.state == PortState::active || port.link_layer != node.choice.layer) continue;
    texts.push_back(
        fmt::format("{} is {}", node.devices[verdict.device].name, name_of(port.state)));
  }
  return join(texts, ", ");
}

constexpr std::size_t max_variables = 256;
constexpr std::size_t max_idle_lines = 16;
constexpr const char* conf_file = "NCCL_CONF_FILE";

std::string below_root(std::string path) {
  return path.erase(0, path.find_first_not_of('/'));
}

std::string no_answer(std::string_view path) {
  return fmt::format("the file system of {} does not respond", path);
}

// A file system whose server is down waits for it. `text`: takes the file's beginning; may be null.
// Without a thread nothing is known.
int look_at(const std::string& file, int mode, const std::shared_ptr<std::string>& text) {
  const auto began = std::chrono::steady_clock::now();
  const auto error = std::make_shared<int>();
  const bool has_ended = stacks::ends_within(look_limit, [file, mode, text, error] {
    if (::access(file.c_str(), mode) != 0) *error = errno;
    if (!text || *error != 0) return;
    const Fd conf(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    text->resize(max_nccl_conf_bytes + 1);
    const ssize_t size = ::read(conf.get(), text->data(), text->size());
    text->resize(size < 0 ? 0 : static_cast<std::size_t>(size));  // NCCL cannot read it either
  });
  if (has_ended) return *error;
  return std::chrono::steady_clock::now() - began < look_limit ? 0 : ETIMEDOUT;
}

void read_conf(NodeFabric& node, const Sysfs& sysfs, const std::string& file) {
  const auto text = std::make_shared<std::string>();
  const bool is_late = look_at(sysfs.full(below_root(file)), R_OK, text) == ETIMEDOUT;
  if (!is_late && text->size() <= max_nccl_conf_bytes) return add_nccl_conf(node, *text, file);
  node.has_unread_conf = true;
  node.unusable_files.clear();  // the first one tells of this
  node.unusable_files.push_back({file, is_late ? no_answer(file) : "it is larger than 64 KiB"});
}

// A rank's streams are not those of this process.
bool is_own_stream(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/");
}

bool carries(const PortVerdict& verdict, const Device& device, const std::string& interface) {
  const auto& gids = device.ports[verdict.port].gids;
  const auto gid = std::ranges::find_if(
      gids, [&](const Gid& one) { return verdict.gid.index && one.index == *verdict.gid.index; });
  if (gid != gids.end() && !gid->interface.empty()) return gid->interface == interface;
  return std::ranges::find(device.interfaces, interface) != device.interfaces.end();
}

// "mlx5_0:1", a chosen RDMA port on this interface; empty: there is none.
std::string port_on(const NodeFabric& node, const std::string& interface) {
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    if (verdict.is_chosen() && carries(verdict, device, interface)) {
      return fmt::format("{}:{}", device.name, device.ports[verdict.port].number);
    }
  }
  return {};
}

}  // namespace

NodeFabric read_node(const Sysfs& sysfs, const Environment& environment,
                     std::string_view profile_name) {
  NodeFabric node;
  node.environment = environment;
  read_nccl_conf(node, sysfs);
  node.interfaces = read_interfaces(sysfs);
  node.devices = read_devices(sysfs);
  return completed(std::move(node), sysfs, profile_name);
}

NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name) {
  NodeFabric node;
  node.environment = environment;
  read_nccl_conf(node, sysfs);
  node.interfaces = read_interfaces_briefly(sysfs);
  node.devices = read_devices_as_needed(sysfs, node.interfaces, named_gid(node));
  return completed(std::move(node), sysfs, profile_name);
}

std::string file_fault(std::string_view path, bool is_output, const Look& look) {
  const std::size_t pattern = is_output ? path.find('%') : path.npos;  // NCCL_DEBUG_FILE: %h and %p
  path = path.substr(0, pattern);
  if (path.empty() || (path[0] != '/' && path[0] != '~')) return {};
  if (is_output && is_own_stream(path)) return {};
  const int mode = is_output ? W_OK : R_OK;
  const auto error_of = [&] { return path[0] == '~' ? ENOENT : look(std::string(path), mode); };
  int error = pattern == path.npos ? error_of() : ENOENT;
  if (is_output && error == ENOENT) {
    path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    error = error_of();
  }
  switch (error) {
    case 0:
      return {};
    case ENOENT:
    case ENOTDIR:
      return fmt::format("this machine has no {} {}", is_output ? "folder" : "file", path);
    case ETIMEDOUT:
      return no_answer(path);
    default:
      return fmt::format("{} cannot be {}: {}", path, is_output ? "written" : "read",
                         errno_text(error));
  }
}

void look_at_files(NodeFabric& node, const std::filesystem::path& root) {
  const Look look = [&](const std::string& path, int mode) {
    return look_at(root.native() + path, mode, nullptr);
  };
  for (const auto& [name, is_output] : {std::pair(conf_file, false),
                                        {"NCCL_TOPO_FILE", false},
                                        {"NCCL_GRAPH_FILE", false},
                                        {"NCCL_DEBUG_FILE", true},
                                        {"NCCL_TOPO_DUMP_FILE", true},
                                        {"NCCL_GRAPH_DUMP_FILE", true}}) {
    if (name == conf_file && node.has_unread_conf) continue;  // the file has a fault already
    const std::string fault = file_fault(own_value(node, name).value_or(""), is_output, look);
    if (!fault.empty()) node.unusable_files.push_back({name, fault});
  }
}

void take_route(NodeFabric& node, Route route, const Sysfs& sysfs) {
  node.route = std::move(route);
  const auto carrier = std::ranges::find(node.interfaces, node.route.interface, &Interface::name);
  const bool is_asked = carrier != node.interfaces.end() && carrier->speed_mbps == 0;
  if (is_asked && !node.choice.uses_rdma()) {
    carrier->speed_mbps = read_speed_mbps(sysfs, carrier->name);
  }
}

std::string summary_of(const NodeFabric& node) {
  if (!node.choice.uses_rdma()) return "no RDMA";
  const std::string inactive = inactive_ports(node);
  return chosen_ports(node) + (inactive.empty() ? "" : fmt::format(" ({})", inactive));
}

void add_nccl_conf(NodeFabric& node, std::string_view text, const std::string& file) {
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty() || trim(line).starts_with('#')) continue;
    const auto equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const auto other = std::ranges::find(node.nccl_conf, name, &FileSetting::name);
    std::string_view why;
    if (equals == 0 || equals == line.npos) {
      why = "it is not NAME=VALUE";
    } else if (name.find_first_of(" \t") != name.npos) {
      why = "for NCCL the blanks before = are a part of the name; write NAME=VALUE";
    } else if (other == node.nccl_conf.end()) {
      if (node.nccl_conf.size() == max_variables) return;
      node.nccl_conf.push_back({std::string(name), std::string(line.substr(equals + 1)), file});
    } else if (other->file == file) {
      why = "a line above sets this name";
    }
    if (why.empty() || node.unusable_files.size() == max_idle_lines) continue;
    node.unusable_files.push_back(
        {fmt::format("{}:{}", file, number), "this line has no effect: " + std::string(why)});
  }
}

void read_nccl_conf(NodeFabric& node, const Sysfs& sysfs) {
  std::string file = node.environment.get(conf_file).value_or("");
  if (file.empty()) file = node.environment.get("HOME").value_or("") + "/.nccl.conf";
  read_conf(node, sysfs, file);
  read_conf(node, sysfs, "/etc/nccl.conf");
}

InterfaceUse use_of(const NodeFabric& node, const Interface& interface) {
  const Route& route = node.route;
  if (interface.name == route.interface) {
    return {true, "to reach the other nodes: " + route.reason};
  }
  if (const std::string port = port_on(node, interface.name); !port.empty()) {
    return {true, "by RDMA port " + port};
  }
  if (interface.kind == InterfaceKind::loopback)
    return {false, "the route leads to this host only"};
  if (!interface.is_up) return {false, "it is down"};
  if (!interface.master.empty()) return {false, "it is a part of " + interface.master};
  if (!route.interface.empty()) {
    return {false, fmt::format("{} is by {}", route.reason, route.interface)};
  }
  return {std::nullopt, "there is no default route; use --to HOST to see the route to a host"};
}

}  // namespace toprun::fabric
