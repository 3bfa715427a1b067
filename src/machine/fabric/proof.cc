#include "machine/fabric/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::string_view plain_sockets = "Socket";
// With less traffic, its distribution over the ports has no significance.
constexpr std::uint64_t least_traffic_bytes = 256u << 20;
constexpr std::uint64_t idle_share = 20;  // a port with 1/20 of the busiest port's traffic is idle

bool is_gpu_direct(const NcclLog& log) {
  return std::ranges::all_of(log.transports, [](const auto& entry) {
    const auto& [name, transport] = entry;
    return !name.starts_with("NET/") || transport.is_gpu_direct();
  });
}

bool has_own_transport(const NodeFabric& node) {
  return node.profile != nullptr && node.profile->has_own_transport;
}

// NCCL used its own transport although the network's vendor has a plugin for it.
bool left_the_plugin_out(const NcclLog& log, const NodeFabric& node) {
  return has_own_transport(node) && log.transports.contains("NET/IB");
}

void add_other_ways(std::span<const NcclLog> logs, const NodeFabric& node, NetworkUse& use) {
  const bool by_sockets = std::ranges::any_of(logs, uses_plain_sockets);
  if (by_sockets && has_own_transport(node)) {
    use.troubles.push_back(
        fmt::format("NCCL used plain sockets instead of the plugin for {}", node.profile->title));
  } else if (by_sockets && node.choice.uses_rdma()) {
    use.troubles.push_back(
        fmt::format("NCCL used plain sockets in addition to {}", summary_of(node)));
  }
  if (std::ranges::any_of(logs,
                          [&](const NcclLog& log) { return left_the_plugin_out(log, node); })) {
    use.troubles.push_back(
        fmt::format("NCCL used its own InfiniBand transport instead of the plugin for {}",
                    node.profile->title));
  }
}

// NCCL's own words: what failed, and why the traffic went another way than the fabric's. What it
// says besides, as that there is no plugin, it says in healthy jobs too.
void add_complaints(std::span<const NcclLog> logs, const NodeFabric& node, NetworkUse& use) {
  std::set<std::string> said;
  for (const NcclLog& log : logs) {
    for (const Complaint& complaint : log.complaints) {
      if (complaint.cause == Cause::failure) said.insert(complaint.text);
    }
    if (uses_plain_sockets(log) || left_the_plugin_out(log, node)) {
      said.insert(why_not(fast_path(node), log));
    }
  }
  said.erase("");
  for (const std::string& text : said) use.troubles.push_back("NCCL said: " + text);
}

void add_gpu_direct(const NodeFabric& node, NetworkUse& use) {
  const bool over_sockets = use.networks == std::set<std::string>{std::string(plain_sockets)};
  if (use.ranks == 0 || use.gpu_direct == use.ranks || over_sockets) return;
  const std::string_view own = node.profile == nullptr ? "" : node.profile->without_gpu_direct;
  use.troubles.push_back(fmt::format(
      "{} of {} communicated without GPUDirect RDMA, which gives about half of the bandwidth ({})",
      use.ranks - use.gpu_direct, counted(use.ranks, "rank"),
      own.empty() ? "run `toprun doctor` on this node" : own));
}

bool is_used_port(const NodeFabric& node, const std::string& name) {
  return std::ranges::any_of(node.choice.ports, [&](const PortVerdict& verdict) {
    const Device& device = node.devices[verdict.device];
    return verdict.is_chosen() &&
           name == fmt::format("{}:{}", device.name, device.ports[verdict.port].number);
  });
}

void add_idle_ports(std::span<const PortCounters> growth, const NodeFabric& node, NetworkUse& use) {
  std::uint64_t most = 0;
  for (const PortCounters& port : growth) most = std::max(most, port.sent_bytes);
  if (most < least_traffic_bytes) return;
  for (const PortCounters& port : growth) {
    if (port.sent_bytes * idle_share >= most || !is_used_port(node, port.name)) continue;
    use.troubles.push_back(fmt::format("{} sent {} MB, but the busiest port sent {} MB", port.name,
                                       port.sent_bytes / 1'000'000, most / 1'000'000));
  }
}

void add_errors(std::span<const PortCounters> growth, NetworkUse& use) {
  for (const PortCounters& port : growth) {
    for (const auto& [name, count] : port.errors) {
      if (count == 0) continue;
      use.troubles.push_back(fmt::format("{} of {} grew by {}", name, port.name, count));
    }
  }
}

std::string hosts_text(std::vector<std::string> hosts) {
  std::ranges::sort(hosts, natural_less);
  return hosts::compress_hostlist(hosts);
}

// Ranks whose NCCL differs may hang in a collective. Empty: all that is known is one version.
std::string version_line(std::span<const NetworkByHost> nodes) {
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (const auto& [host, use] : nodes) {
    for (const std::string& version : use.nccl) hosts_of[version].push_back(host);
  }
  if (hosts_of.size() < 2) return {};
  std::vector<std::string> texts;
  for (auto& [version, hosts] : hosts_of) {
    texts.push_back(fmt::format("{} on {}", version, hosts_text(std::move(hosts))));
  }
  return fmt::format(
      "warning: ranks used different versions of NCCL: {}; install the same version on all nodes, "
      "or use one image",
      join(texts, ", "));
}

std::string summary_line(std::span<const NetworkByHost> nodes) {
  std::set<std::string> networks;
  int ranks = 0;
  int direct = 0;
  std::size_t used = 0;
  for (const auto& [host, use] : nodes) {
    networks.insert(use.networks.begin(), use.networks.end());
    ranks += use.ranks;
    direct += use.gpu_direct;
    if (use.ranks > 0) ++used;
  }
  if (ranks == 0) return {};
  const std::vector<std::string> names(networks.begin(), networks.end());
  const std::string with = direct == ranks ? " with GPUDirect"
                           : direct == 0   ? ""
                                           : ", partly with GPUDirect";
  return fmt::format("network: {} on {} communicated by {}{}", counted(ranks, "rank"),
                     counted(used, "node"), join(names, ", "), with);
}

}  // namespace

FastPath fast_path(const NodeFabric& node) {
  return has_own_transport(node) ? FastPath::plugin : FastPath::verbs;
}

NetworkUse judge(std::span<const NcclLog> logs, std::span<const PortCounters> growth,
                 const NodeFabric& node) {
  NetworkUse use;
  for (const NcclLog& log : logs) {
    if (!log.leaves_the_node()) continue;
    ++use.ranks;
    use.gpu_direct += is_gpu_direct(log) ? 1 : 0;
    use.networks.insert(log.networks.begin(), log.networks.end());
    if (log.version && use.nccl.size() < max_networks) use.nccl.insert(text_of(*log.version));
  }
  add_other_ways(logs, node, use);
  add_complaints(logs, node, use);
  add_gpu_direct(node, use);
  add_idle_ports(growth, node, use);
  add_errors(growth, use);
  if (use.troubles.size() > max_troubles) use.troubles.resize(max_troubles);
  while (use.networks.size() > max_networks) use.networks.erase(std::prev(use.networks.end()));
  return use;
}

std::vector<std::string> network_lines(std::span<const NetworkByHost> nodes) {
  std::vector<std::string> lines;
  if (std::string line = summary_line(nodes); !line.empty()) lines.push_back(std::move(line));
  if (std::string line = version_line(nodes); !line.empty()) lines.push_back(std::move(line));
  std::vector<std::string> troubles;
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (const auto& [host, use] : nodes) {
    for (const std::string& trouble : use.troubles) {
      if (!hosts_of.contains(trouble)) troubles.push_back(trouble);
      hosts_of[trouble].push_back(host);
    }
  }
  for (const std::string& trouble : troubles) {
    lines.push_back(fmt::format("warning: {}: {}", hosts_text(hosts_of[trouble]), trouble));
  }
  return lines;
}

}  // namespace toprun::fabric
