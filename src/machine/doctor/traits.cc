#include "machine/doctor/traits.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text/text.h"

namespace toprun::doctor {
namespace {

using fabric::Interface;
using fabric::InterfaceKind;

constexpr std::string_view addresses = "addresses";

// Container networks make bridges and veth pairs at will, which differ between healthy hosts.
bool carries_traffic(const Interface& interface) {
  const bool is_own = interface.kind == InterfaceKind::physical ||
                      interface.kind == InterfaceKind::bond ||
                      (interface.kind == InterfaceKind::veth && interface.master.empty());
  return is_own && interface.is_up && interface.mtu > 0;
}

// The interface with the default route and those below RDMA ports; without such a route all that
// carry traffic.
std::vector<const Interface*> interfaces_of_a_job(const Facts& facts) {
  std::vector<const Interface*> all;
  const auto& interfaces = facts.network.interfaces;
  const auto* const route = fabric::find(interfaces, facts.network.route.interface);
  const auto add = [&](const Interface* interface) {
    if (interface != nullptr && interface->mtu > 0 &&
        std::ranges::find(all, interface) == all.end()) {
      all.push_back(interface);
    }
  };
  for (const Interface& interface : interfaces) {
    if (route == nullptr ? carries_traffic(interface) : &interface == route) add(&interface);
  }
  for (const fabric::PortVerdict& verdict : facts.network.choice.ports) {
    if (!verdict.is_chosen()) continue;
    for (const std::string& name : facts.network.devices[verdict.device].interfaces) {
      add(fabric::find(interfaces, name));
    }
  }
  return all;
}

std::string mtu(const Facts& facts) {
  std::set<int> mtus;
  for (const Interface* const interface : interfaces_of_a_job(facts)) mtus.insert(interface->mtu);
  std::vector<std::string> words;
  for (const int value : mtus) words.push_back(std::to_string(value));
  return join(words, " and ");
}

// Of several interfaces it cannot be said which one differs.
std::string place_of_mtu(const Facts& facts) {
  const auto all = interfaces_of_a_job(facts);
  return all.size() == 1 ? all.front()->name : "";
}

std::string limit_text(const std::optional<std::int64_t>& limit) {
  return limit ? std::to_string(*limit) : "unlimited";
}

std::string rdma(const Facts& facts) {
  return facts.network.devices.empty() ? "none" : fabric::summary_of(facts.network);
}

constexpr std::array rows = {
    TraitRow{"rdma", "RDMA", Severity::warning,
             "run `toprun net show` on this host: the slowest host slows down all hosts", rdma,
             "nodes differ in RDMA: {}; the slowest node slows down all nodes (run `toprun net "
             "show` on it)"},
    TraitRow{"nccl", "NCCL's version", Severity::warning, "install the same version on all hosts",
             [](const Facts& facts) { return facts.installed.nccl; },
             "nodes have different versions of NCCL: {}; install the same version on all nodes"},
    TraitRow{"python", "Python's version", Severity::note, "give all hosts the same environment",
             [](const Facts& facts) { return facts.installed.python; },
             "nodes have different Pythons: {}; give all nodes the same environment"},
    TraitRow{"torch", "torch's version", Severity::warning, "install the same version on all hosts",
             [](const Facts& facts) { return facts.installed.torch; },
             "nodes have different versions of torch: {}; install the same version on all nodes"},
    TraitRow{"mtu", "the MTU", Severity::warning,
             "set the same MTU on all hosts and switches (ip link set dev IFNAME mtu …)", mtu, "",
             place_of_mtu, "ip link set dev {} mtu {}"},
    TraitRow{"open-files-limit", "the limit on open files", Severity::warning,
             "set the same limit on all hosts (LimitNOFILE= of slurmd or sshd, limits.conf)",
             [](const Facts& facts) { return limit_text(facts.resources.open_files); }},
    TraitRow{"processes-limit", "the limit on processes", Severity::warning,
             "set the same limit on all hosts (LimitNPROC=, limits.conf)",
             [](const Facts& facts) { return limit_text(facts.resources.processes); }},
    TraitRow{"gpu-count", "the number of GPUs", Severity::error,
             "check nvidia-smi and dmesg: a GPU has fallen off the bus or is hidden from this host",
             [](const Facts& facts) { return std::to_string(facts.gpu_functions); }},
    TraitRow{"nvidia-driver", "NVIDIA's driver", Severity::warning,
             "install the same version on all hosts",
             [](const Facts& facts) { return facts.nvidia_driver; }},
    TraitRow{"firmware", "the firmware of the RDMA adapters", Severity::note,
             "bring all adapters to the same version",
             [](const Facts& facts) { return join(facts.firmware, " and "); }},
    TraitRow{"processors", "the number of processors", Severity::note,
             "look for a limit of the container, or for a processor that is switched off",
             [](const Facts& facts) {
               return facts.processors == 0 ? "" : std::to_string(facts.processors);
             }},
    TraitRow{"kernel", "the kernel", Severity::note, "start the same kernel on all hosts",
             [](const Facts& facts) { return facts.kernel; }},
    TraitRow{
        addresses, "the address of {}", Severity::warning,
        "correct /etc/hosts or the resolver on the host with the wrong address; otherwise ranks "
        "look for each other at wrong addresses",
        [](const Facts&) { return std::string(); }},
};

}  // namespace

std::span<const TraitRow> trait_rows() {
  return rows;
}

std::vector<Trait> traits_of(const Facts& facts) {
  std::vector<Trait> traits;
  for (const TraitRow& row : rows) {
    std::string value = row.value(facts);
    if (value.empty()) continue;
    traits.push_back({std::string(row.id), "", std::move(value),
                      row.place == nullptr ? std::string() : row.place(facts)});
  }
  for (const Peer& peer : facts.peers) {
    const bool is_known = !peer.addresses.empty();
    traits.push_back({std::string(addresses), peer.name,
                      is_known ? join(peer.addresses, ", ") : std::string(unknown_address)});
  }
  return traits;
}

}  // namespace toprun::doctor
