#include "decide/topology/ports.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/fabric.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/slurm/lines.h"
#include "machine/fabric/devices.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view guid_prefix = "0x";

// Parses "0x155dfffd33ff33": up to 16 digits; some programs omit leading zeros.
std::optional<std::uint64_t> parse_guid(std::string_view text) {
  if (!text.starts_with(guid_prefix)) return std::nullopt;
  text.remove_prefix(guid_prefix.size());
  std::uint64_t guid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), guid, 16);
  if (error != std::errc() || end != text.data() + text.size() || guid == 0) return std::nullopt;
  return guid;
}

// Device names from other nodes become part of a command line, so text that could be an option is
// invalid.
bool is_device_name(std::string_view text) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text,
                             [&](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

// Reads a topology file and finds the hosts of its ports.
class PortTopologyReader {
 public:
  PortTopologyReader(std::string_view file, std::span<const HostPorts> hosts) : file_(file) {
    for (const HostPorts& host : hosts) {
      for (const Port& port : host.ports) owners_[port.guid].push_back({&host, &port});
    }
  }

  Result<void> read(const std::vector<SlurmLine>& lines) {
    for (const SlurmLine& line : lines) {
      if (auto taken = take_name(line); !taken) return taken;
    }
    for (Index i = 0; i < named_.size(); ++i) {
      if (auto taken = take_ports(i); !taken) return taken;
      if (auto taken = take_switches(i); !taken) return taken;
    }
    return {};
  }

  const std::vector<FabricSwitch>& switches() const { return switches_; }
  const std::vector<FabricPort>& ports() const { return ports_; }

 private:
  using Index = std::size_t;
  using Pair = SlurmLine::Pair;

  std::unexpected<Error> refuse(const SlurmLine& line, std::size_t offset, std::string why) const {
    return usage(at(file_, line.where(offset)), std::move(why),
                 "give the file that `sharp_cmd topology` writes");
  }

  Result<void> take_name(const SlurmLine& line) {
    const Pair* name = line.find("switchname");
    if (!name || name->value.empty()) return refuse(line, 0, "the line does not name a switch");
    const auto [known, is_new] = by_name_.emplace(name->value, switches_.size());
    if (!is_new) {
      return refuse(line, name->value_offset,
                    fmt::format("switch {} appears twice, first at {}", name->value,
                                at(file_, named_[known->second]->where(0))));
    }
    switches_.push_back({name->value, {}});
    named_.push_back(&line);
    return {};
  }

  Result<void> take_ports(Index leaf) {
    const SlurmLine& line = *named_[leaf];
    const Pair* list = line.find("nodes");
    if (!list) return {};
    std::size_t offset = list->value_offset;
    for (const std::string_view text : split(list->value, ',')) {
      const auto guid = parse_guid(text);
      if (!guid) {
        return refuse(
            line, offset,
            fmt::format("'{}' is not a port's GUID", text.substr(0, max_domain_name_bytes)));
      }
      const auto [first, is_new] = seen_.emplace(*guid, leaf);
      if (!is_new) {
        return refuse(line, offset,
                      fmt::format("port {} appears twice, first below {}", text,
                                  switches_[first->second].name));
      }
      add_port(*guid, leaf);
      offset += text.size() + 1;
    }
    return {};
  }

  // Two members may be on one machine and report the same ports.
  void add_port(std::uint64_t guid, Index leaf) {
    const auto owners = owners_.find(guid);
    if (owners == owners_.end()) return;  // of a machine outside the job
    const std::string evidence = at_line(std::string(file_), named_[leaf]->where(0).line);
    for (const auto& [host, port] : owners->second) {
      ports_.push_back({host->host, port->device, 0, port->number, leaf, {}, evidence});
    }
  }

  Result<void> take_switches(Index above) {
    const SlurmLine& line = *named_[above];
    const Pair* list = line.find("switches");
    if (!list) return {};
    std::size_t offset = list->value_offset;
    for (const std::string_view name : split(list->value, ',')) {
      const auto below = by_name_.find(name);
      if (below == by_name_.end()) {
        return refuse(line, offset,
                      fmt::format("switch {} is above {}, which no line defines",
                                  switches_[above].name, name.substr(0, max_domain_name_bytes)));
      }
      if (++links_ > max_links) {
        return refuse(line, offset,
                      fmt::format("more than {} switches are below other switches", max_links));
      }
      switches_[above].peers.push_back(below->second);
      offset += name.size() + 1;
    }
    return {};
  }

  struct Owner {
    const HostPorts* host;
    const Port* port;
  };

  std::string_view file_;
  std::unordered_map<std::uint64_t, std::vector<Owner>> owners_;  // by the port's GUID
  std::vector<FabricSwitch> switches_;
  std::vector<const SlurmLine*> named_;  // the line of each switch
  std::map<std::string, Index, std::less<>> by_name_;
  std::unordered_map<std::uint64_t, Index> seen_;  // place of each port's first mention
  std::vector<FabricPort> ports_;
  std::size_t links_ = 0;
};

void warn_of_missing_ports(Map& map, std::span<const HostPorts> hosts, const std::string& file) {
  std::set<std::string_view> placed;
  for (const Map::Entry& entry : map.hosts) placed.insert(entry.host);
  std::vector<std::string> strangers;
  for (const HostPorts& host : hosts) {
    if (!placed.contains(host.host)) strangers.push_back(host.host);
  }
  if (strangers.empty()) return;
  std::ranges::sort(strangers, natural_less);
  map.warnings.push_back(fmt::format("none of the InfiniBand ports of {} is listed in {}",
                                     hosts::compress_hostlist(strangers), file));
}

}  // namespace

bool needs_ports(std::string_view topology) {
  return topology == "azure" || !names_source(topology);
}

std::vector<Port> read_ports(const fs::path& root) {
  std::vector<Port> ports;
  for (const fabric::Device& device : fabric::read_devices_briefly(fabric::Sysfs(root))) {
    for (const fabric::Port& port : device.ports) {
      const bool is_named = !port.gids.empty() && port.gids.front().index == 0;
      if (port.link_layer != fabric::LinkLayer::infiniband || !is_named) continue;
      const std::uint64_t guid = fabric::interface_id(port.gids.front().bytes);
      if (guid == 0 || ports.size() == max_rails) continue;
      ports.push_back({device.name, port.number, guid});
    }
  }
  return ports;
}

std::string ports_text(std::span<const Port> ports) {
  std::string text;
  for (const Port& port : ports) {
    text += fmt::format("{}/{} {:#x}\n", port.device, port.number, port.guid);
  }
  return text;
}

Result<std::vector<Port>> parse_ports(std::string_view text) {
  std::vector<Port> ports;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const std::size_t slash = line.find('/');
    const std::size_t blank = std::min(line.find(' '), line.size());
    const bool shaped =
        slash < blank && blank < line.size() && is_device_name(line.substr(0, slash));
    const auto number =
        shaped ? parse_int(line.substr(slash + 1, blank - slash - 1)) : std::nullopt;
    const auto guid = shaped ? parse_guid(line.substr(blank + 1)) : std::nullopt;
    constexpr std::int64_t most = 255;  // a port's number is one byte
    if (!number || *number < 1 || *number > most || !guid) {
      return fail(
          fmt::format("'{}' is not an InfiniBand port", line.substr(0, max_domain_name_bytes)),
          "DEVICE/NUMBER 0xGUID is expected");
    }
    if (ports.size() == max_rails) {
      return fail(fmt::format("more than {} InfiniBand ports", max_rails));
    }
    ports.push_back({std::string(line.substr(0, slash)), static_cast<int>(*number), *guid});
  }
  return ports;
}

std::vector<HostPorts> ports_of(std::span<const Member> members) {
  std::vector<HostPorts> hosts;
  for (const Member& member : members) {
    if (!member.ports) continue;
    auto ports = parse_ports(*member.ports);
    if (ports && !ports->empty()) hosts.push_back({member.name, *std::move(ports)});
  }
  return hosts;
}

Result<Map> parse_port_topology(std::string_view text, const std::string& file,
                                std::span<const HostPorts> hosts) {
  const auto lines = TRY(parse_slurm_lines(text, file));
  PortTopologyReader reader(file, hosts);
  TRY(reader.read(lines));
  Map map;
  if (!reader.ports().empty()) {
    auto fabric = TRY(map_of_fabric(file, reader.switches(), reader.ports()));
    map = std::move(fabric.map);
  }
  warn_of_missing_ports(map, hosts, file);
  return map;
}

Map unknown_places(std::span<const Member> members, const std::string& file, std::string warning) {
  MapBuilder builder(file);
  for (const Member& member : members) (void)builder.add(member.name, {{}, file, {}}, file);
  builder.warn(std::move(warning));
  return builder.finish({});
}

bool names_ports(std::string_view text) {
  constexpr std::string_view key = "Nodes=";
  const std::size_t start = text.find(key);
  if (start == std::string_view::npos) return false;
  const std::string_view value = text.substr(start + key.size());
  return parse_guid(value.substr(0, value.find_first_of(", \t\r\n"))).has_value();
}

}  // namespace toprun::topology
