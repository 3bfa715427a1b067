#include "decide/topology/infiniband/ib_records.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text/text.h"
#include "decide/topology/match.h"
#include "decide/topology/ports.h"
#include "decide/topology/position.h"
#include "decide/topology/rails.h"

namespace toprun::topology {
namespace {

// One end of a line.
struct ReportedPort {
  IbNode::Kind kind = IbNode::Kind::other;
  int number = 0;
  std::string_view guid_text;
  std::uint64_t guid = 0;
};

std::optional<IbNode::Kind> kind_of(std::string_view type) {
  if (type == "SW") return IbNode::Kind::device;
  if (type == "CA") return IbNode::Kind::adapter;
  if (type == "RT" || type == "??") return IbNode::Kind::other;
  return std::nullopt;
}

// "SW", "73", "1", "0x2c5eab0300b87b40".
std::optional<ReportedPort> port_in(const std::vector<std::string_view>& columns,
                                    std::size_t first) {
  if (columns.size() < first + 4) return std::nullopt;
  const auto kind = kind_of(columns[first]);
  const auto lid = parse_int(columns[first + 1]);
  const auto number = parse_int(columns[first + 2]);
  std::string_view digits = columns[first + 3];
  if (!kind || !lid || !number || *number < 0 || *number > max_ib_port ||
      !digits.starts_with("0x")) {
    return std::nullopt;
  }
  ReportedPort port{*kind, static_cast<int>(*number), digits, 0};
  digits.remove_prefix(2);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port.guid, 16);
  if (error != std::errc{} || end != digits.end()) return std::nullopt;
  return port;
}

// Splits "'MF0;leaf' - 'n0 mlx5_5'" into two descriptions.
struct Descriptions {
  std::string_view own, others;
};

std::optional<Descriptions> descriptions_in(std::string_view line) {
  const std::size_t open = line.find("( '");
  const std::size_t close = line.rfind("' )");
  if (open == line.npos || close == line.npos || close < open + 3) return std::nullopt;
  const std::string_view both = line.substr(open + 3, close - open - 3);
  const std::size_t middle = both.find("' - '");
  if (middle == both.npos) return std::nullopt;
  return Descriptions{both.substr(0, middle), both.substr(middle + 5)};
}

class PortsReportReader {
 public:
  explicit PortsReportReader(const std::string& file) : file_(file) {}

  Result<IbRecords> run(std::string_view text) {
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      TRY(take(trim(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(records_);
  }

 private:
  Result<void> take(std::string_view line) {
    const std::vector<std::string_view> columns = words(line.substr(0, line.find('\'')));
    const auto own = port_in(columns, 0);
    if (!own) return {};
    const bool open = std::ranges::find(columns, "-") == columns.end();
    if (open) return {};
    constexpr std::size_t other_end = 7;  // type LID port GUID width speed -
    const auto other = columns.size() > other_end && columns[other_end - 1] == "-"
                           ? port_in(columns, other_end)
                           : std::nullopt;
    const auto descriptions = descriptions_in(line);
    if (!other || !descriptions) {
      return usage(at(file_, {line_, 1}),
                   "this line does not describe a port and the port at the other end of its cable",
                   "give the whole output of `ibnetdiscover -p`");
    }
    const IbEnd from = end_of(*own, descriptions->own);
    const IbEnd to = end_of(*other, descriptions->others);
    if (!seen_.insert(from.key()).second)
      return {};  // the other end's line named this cable before
    seen_.insert(to.key());
    records_.cables.push_back({from, to, std::string(columns[4]) + std::string(columns[5])});
    return {};
  }

  IbEnd end_of(const ReportedPort& port, std::string_view description) {
    const auto [found, is_new] = index_.emplace(port.guid, records_.nodes.size());
    if (is_new) {
      records_.nodes.push_back({port.kind, port.guid_text, 0, description, line_, line_});
    }
    return {found->second, port.number,
            port.kind == IbNode::Kind::adapter ? port.guid : std::uint64_t{0}};
  }

  const std::string& file_;
  std::size_t line_ = 1;
  IbRecords records_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // of nodes, by GUID
  std::unordered_set<std::uint64_t> seen_;                // ends of cables
};

using Index = std::size_t;
using Node = IbNode;
using Cable = IbCable;
using End = IbEnd;

constexpr std::string_view whole = "give the whole output of `ibnetdiscover`";

// "MF0;leaf-04:MQM9701/U1" (system, model, chip) gives "leaf-04"; other descriptions stay whole.
std::string switch_name(std::string_view description) {
  const std::size_t semicolon = description.find(';');
  std::string_view name = description;
  if (semicolon != std::string_view::npos) {
    name = description.substr(semicolon + 1);
    name = name.substr(0, name.find(':'));
  }
  std::string text(trim(name));
  // Replaces characters that a host list cannot contain.
  for (char& c : text) {
    if (std::string_view(" \t,[]{}/").find(c) != std::string_view::npos) c = '-';
  }
  return text;
}

// The chip's place in a chassis with several chips: "/L01/U1" in "MF0;core:CS7500/L01/U1".
std::string_view chip_name(std::string_view description) {
  const std::size_t colon = description.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::size_t slash = description.find('/', colon);
  return slash == std::string_view::npos ? std::string_view() : description.substr(slash);
}

// Converts records to switches and hosts' ports.
class Dump {
 public:
  Dump(const IbRecords& records, const std::string& file, std::span<const Member> members)
      : nodes_(records.nodes),
        cables_(records.cables),
        file_(file),
        members_(members),
        hosts_(ports_of(members)) {
    for (const HostPorts& host : hosts_) {
      for (const Port& port : host.ports) owners_[port.guid].push_back({&host, &port});
    }
  }

  Result<Fabric> run() {
    TRY(check_switches());
    name_switches();
    for (const Cable& cable : cables_) add(cable);
    if (ports_.empty() && !members_.empty()) return unknown_members();
    if (ports_.empty()) {
      return usage(file_, "the adapters do not name their hosts",
                   unnamed_.count == 0
                       ? "are the hosts' ports up?"
                       : "set the adapters' node descriptions (rdma-ndd does this), or start a "
                         "job: the agents of a job know the GUIDs of their ports");
    }
    auto fabric = TRY(map_of_fabric(file_, switches_, ports_));
    add_rail_facts(fabric, in_job(fabric.map));
    warn(fabric.map);
    return fabric;
  }

 private:
  struct Owner {
    const HostPorts* host;
    const Port* port;
  };

  Result<void> check_switches() const {
    if (std::ranges::any_of(nodes_, &Node::is_switch)) return {};
    if (nodes_.empty())
      return usage(file_, "no line of the file begins with Switch or Ca", std::string(whole));
    const Node& node = nodes_.front();
    return usage(at(file_, {node.mention_line, 1}),
                 fmt::format("the file contains no switch: {} \"{}\" is linked to {}", node.id,
                             node.description, cables_.empty() ? "nothing" : "no switch"),
                 "run ibnetdiscover on a node whose InfiniBand port is active; ibstat shows this");
  }

  void name_switches() {
    std::unordered_map<std::string, std::size_t> short_names, long_names;
    for (const Node& node : nodes_) {
      if (!node.is_switch()) continue;
      ++short_names[switch_name(node.description)];
      ++long_names[long_name(node)];
    }
    std::unordered_set<std::string> taken;
    for (const Node& node : nodes_) {
      switch_index_.push_back(switches_.size());
      if (!node.is_switch()) continue;
      std::string name = switch_name(node.description);
      bool unique = short_names[name] == 1;
      if (!unique) {
        name = long_name(node);
        unique = long_names[name] == 1;
      }
      // Unmanaged switches all have the maker's description.
      if (name.empty() || !unique || !taken.insert(name).second) name = std::string(node.id);
      switches_.push_back({std::move(name), {}});
    }
  }

  static std::string long_name(const Node& node) {
    std::string name = switch_name(node.description) + std::string(chip_name(node.description));
    std::ranges::replace(name, '/', '-');
    return name;
  }

  void add(const Cable& cable) {
    const Node& from = nodes_[cable.from.node];
    const Node& to = nodes_[cable.to.node];
    if (from.is_switch() && to.is_switch()) {
      FabricSwitch& end = switches_[switch_index_[cable.from.node]];
      end.peers.push_back(switch_index_[cable.to.node]);
      end.gbps.push_back(gbps_of(cable.speed).value_or(0));
    } else if (from.is_switch() && to.is_adapter()) {
      add_port(to, cable.to, cable.from.node, cable.speed);
    } else if (to.is_switch() && from.is_adapter()) {
      add_port(from, cable.from, cable.to.node, cable.speed);
    }
  }

  void add_port(const Node& adapter, End end, Index leaf, const std::string& speed) {
    // An adapter for SHARP inside a switch.
    if (adapter.description.ends_with("Aggregation Node")) return;
    const std::string evidence =
        at_line(file_, adapter.line > 0 ? adapter.line : adapter.mention_line);
    const auto owners = owners_.find(end.guid);
    if (owners == owners_.end()) return add_described(adapter, end, leaf, speed, evidence);
    // Two members may be on one machine and report the same ports.
    for (const auto& [host, port] : owners->second) {
      ports_.push_back({host->host, port->device, adapter.guid, port->number, switch_index_[leaf],
                        speed, evidence});
    }
  }

  void add_described(const Node& adapter, End end, Index leaf, const std::string& speed,
                     const std::string& evidence) {
    const std::vector<std::string_view> names = words(adapter.description);
    // A device's name has a number at its end: mlx5_0, HCA-1, ibp24s0.
    const bool device = names.size() == 2 && names[1].back() >= '0' && names[1].back() <= '9';
    if (names.size() != 1 && !device) {
      unnamed_.add([&] {
        return fmt::format("{}: adapter {} says \"{}\", which does not name a host", evidence,
                           adapter.id, adapter.description);
      });
      return;
    }
    const std::string_view hca = device ? names[1] : adapter.id;
    ports_.push_back({std::string(names[0]), std::string(hca), adapter.guid, end.port,
                      switch_index_[leaf], speed, evidence});
  }

  Fabric unknown_members() const {
    Map map = unknown_places(
        members_, file_,
        fmt::format("{}: the adapters do not name their hosts, and {}", file_,
                    hosts_.empty()
                        ? "no node has reported its ports"
                        : "the file contains none of the ports that the nodes have reported"));
    std::vector<std::vector<Rail>> rails(map.hosts.size());
    return {std::move(map), std::move(rails)};
  }

  // The hosts of the map that rail warnings and notes may name.
  std::vector<bool> in_job(const Map& map) const {
    std::vector<std::string> requested, known;
    for (const Member& member : members_) requested.push_back(member.name);
    for (const Map::Entry& entry : map.hosts) known.push_back(entry.host);
    std::vector<bool> in_job(known.size(), requested.empty());
    for (const auto& index : match_hosts(requested, known).known) {
      if (index) in_job[*index] = true;
    }
    return in_job;
  }

  void warn(Map& map) const {
    unnamed_.warn(map.warnings, "ports");
    const auto open = [](const Node& node) { return node.line == 0; };
    const auto missing = std::ranges::count_if(nodes_, open);
    if (missing == 0) return;
    const Node& first = *std::ranges::find_if(nodes_, open);
    map.warnings.push_back(
        fmt::format("{}: {} has no record (nodes without a record: {}); is the dump complete?",
                    at_line(file_, first.mention_line), first.id, missing));
  }

  const std::vector<Node>& nodes_;
  const std::vector<Cable>& cables_;
  const std::string& file_;
  std::span<const Member> members_;
  std::vector<HostPorts> hosts_;
  std::unordered_map<std::uint64_t, std::vector<Owner>> owners_;  // by the port's GUID
  std::vector<FabricSwitch> switches_;
  std::vector<Index> switch_index_;  // by node; meaningless for nodes that are not switches
  std::vector<FabricPort> ports_;
  Tally unnamed_;
};

}  // namespace

Result<Fabric> fabric_of_records(const IbRecords& records, const std::string& file,
                                 std::span<const Member> members) {
  return Dump(records, file, members).run();
}

Result<IbRecords> parse_ports_report(std::string_view text, const std::string& file) {
  return PortsReportReader(file).run(text);
}

bool is_ports_report_line(std::string_view line) {
  return port_in(words(line.substr(0, line.find('\''))), 0).has_value();
}

}  // namespace toprun::topology
