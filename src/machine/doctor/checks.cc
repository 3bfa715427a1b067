#include "machine/doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::doctor {
namespace {

using fabric::LinkLayer;
using fabric::Port;
using fabric::PortState;
using fabric::PortVerdict;
using Findings = std::vector<Finding>;

constexpr std::array<std::string_view, 4> severity_names = {"ok", "note", "warning", "error"};
constexpr std::uint64_t little_space_bytes = 64u << 20;
constexpr std::int64_t short_backlog = 1'024;
constexpr double full_share = 0.9;
// With a lower hard limit, small_job's 8 ranks do not start: their agent alone opens about 50.
constexpr std::int64_t fewest_files = 64;
// The size of an RDMA message of 4,096 bytes with its headers.
constexpr int large_enough_mtu = 4'200;

// What a check looks at; a machine may have none.
enum class Subject : std::uint8_t { machine, rdma, gpus, rdma_and_gpus, rdma_or_gpus, bonds };

// A check. `look` returns no "ok" finding if it finds nothing.
struct Check {
  std::string_view id;
  std::string_view fine;  // the text if nothing is found
  Findings (*look)(const Facts&);
  Subject subject = Subject::machine;
  bool (*is_in_copy)(const Facts&) = nullptr;  // nullptr: a copy of /sys shows the subject
};

bool in_no_copy(const Facts&) {
  return false;
}

// Whether a copy of another machine's files does not tell.
bool is_unknown(const Check& check, const Facts& facts) {
  if (!facts.is_copy) return false;
  if (check.is_in_copy != nullptr) return !check.is_in_copy(facts);
  return check.subject == Subject::gpus || (check.subject != Subject::machine && !facts.has_sys);
}

// Which of it is not here; empty: nothing is missing.
std::string_view missing(Subject subject, const Facts& facts) {
  if (subject == Subject::bonds) {
    const bool has_bond = std::ranges::any_of(
        facts.network.interfaces,
        [](const fabric::Interface& interface) { return !interface.legs.empty(); });
    return has_bond ? "" : "no bond";
  }
  const bool needs_rdma = subject == Subject::rdma || subject == Subject::rdma_and_gpus;
  const bool needs_gpus = subject == Subject::gpus || subject == Subject::rdma_and_gpus;
  const bool has_rdma = !facts.network.devices.empty();
  if (needs_rdma && !has_rdma) return "no RDMA device";
  const bool has_gpus = !facts.gpus.empty() || facts.gpu_functions > 0;
  if (subject == Subject::rdma_or_gpus && !has_rdma && !has_gpus) return "no RDMA device, no GPU";
  return needs_gpus && !has_gpus ? "no GPU" : "";
}

Finding found(Severity severity, std::string evidence, std::string fix,
              std::vector<std::string> commands = {}) {
  return {"", severity, std::move(evidence), std::move(fix), std::move(commands)};
}

const Port& port_of(const Facts& facts, const PortVerdict& verdict) {
  return facts.network.devices[verdict.device].ports[verdict.port];
}

std::string name_of(const Facts& facts, const PortVerdict& verdict) {
  return fmt::format("{}:{}", facts.network.devices[verdict.device].name,
                     port_of(facts, verdict).number);
}

bool uses_rdma(const Facts& facts) {
  return facts.network.choice.uses_rdma();
}

Findings rdma_ports(const Facts& facts) {
  Findings all;
  for (const PortVerdict& verdict : facts.network.choice.ports) {
    const Port& port = port_of(facts, verdict);
    if (port.state == PortState::active) continue;
    all.push_back(
        found(uses_rdma(facts) ? Severity::warning : Severity::error,
              fmt::format("{} is {}", name_of(facts, verdict), fabric::name_of(port.state)),
              "check the cable and the switch port of this adapter (rdma link, ibstat)"));
  }
  return all;
}

Findings rdma_gids(const Facts& facts) {
  Findings all;
  for (const PortVerdict& verdict : facts.network.choice.ports) {
    const Port& port = port_of(facts, verdict);
    const bool is_roce = port.link_layer == LinkLayer::ethernet;
    if (port.state != PortState::active || !is_roce || verdict.gid.index) continue;
    all.push_back(found(
        Severity::error, fmt::format("{}: {}", name_of(facts, verdict), verdict.why_not),
        "give the adapter's interface an address; without an address NCCL cannot use the adapter"));
  }
  return all;
}

Findings rdma_rates(const Facts& facts) {
  double fastest = 0;
  for (const PortVerdict& verdict : facts.network.choice.ports) {
    if (verdict.is_chosen()) fastest = std::max(fastest, port_of(facts, verdict).rate_gbps);
  }
  Findings all;
  for (const PortVerdict& verdict : facts.network.choice.ports) {
    const double rate = port_of(facts, verdict).rate_gbps;
    if (!verdict.is_chosen() || rate == fastest) continue;
    all.push_back(
        found(Severity::warning,
              fmt::format("{} runs at {:g} of {:g} Gb/s", name_of(facts, verdict), rate, fastest),
              "a degraded cable or transceiver slows down every collective"));
  }
  return all;
}

Findings rdma_mtu(const Facts& facts) {
  Findings all;
  for (const PortVerdict& verdict : facts.network.choice.ports) {
    if (!verdict.is_chosen() || port_of(facts, verdict).link_layer != LinkLayer::ethernet) continue;
    for (const std::string& name : facts.network.devices[verdict.device].interfaces) {
      const auto* const interface = fabric::find(facts.network.interfaces, name);
      if (interface == nullptr || interface->mtu == 0 || interface->mtu >= large_enough_mtu)
        continue;
      all.push_back(
          found(Severity::note,
                fmt::format("{} has an MTU of {}: RDMA over {} sends messages below 4,096 bytes",
                            name, interface->mtu, name_of(facts, verdict)),
                "an MTU of 9000 on all hosts and switches gives about 5 % more bandwidth",
                {fmt::format("ip link set dev {} mtu 9000", name)}));
    }
  }
  return all;
}

Findings verbs_devices(const Facts& facts) {
  if (!uses_rdma(facts) || facts.has_verbs_devices) return {};
  return {found(Severity::error,
                "/sys shows RDMA devices, but /dev/infiniband has no uverbs device",
                "pass the devices to the container (--device /dev/infiniband, rdma/rdma in "
                "Kubernetes), or load ib_uverbs",
                {"modprobe ib_uverbs"})};
}

Findings verbs_library(const Facts& facts) {
  if (!uses_rdma(facts) || facts.has_verbs_library) return {};
  return {found(Severity::warning,
                "libibverbs.so.1 is neither in the usual folders nor in LD_LIBRARY_PATH: without "
                "this library NCCL says \"No device found\"",
                "install rdma-core's libibverbs1 in the image, or add the library's folder to "
                "LD_LIBRARY_PATH")};
}

Findings pcie_lanes(const Facts& facts) {
  Findings all;
  for (const NarrowLink& link : facts.narrow_links) {
    all.push_back(found(
        Severity::warning,
        fmt::format("{} runs on {} of {} PCIe lanes", link.name, link.lanes, link.possible_lanes),
        "seat the card again, or replace the card or its riser"));
  }
  return all;
}

Findings pci_redirection(const Facts& facts) {
  if (!uses_rdma(facts) || facts.gpu_functions == 0 || facts.redirecting_bridges.empty()) return {};
  const auto& bridges = facts.redirecting_bridges;
  Finding finding =
      found(Severity::note,
            fmt::format("{} above GPUs or adapters redirect{} their traffic through the CPU (ACS)",
                        counted(bridges.size(), "PCI bridge"), bridges.size() == 1 ? "s" : ""),
            "if the machine does not pass devices to virtual machines, switch ACS off in its BIOS, "
            "or run these commands at each start");
  for (const std::string& bridge : bridges) {
    finding.commands.push_back(fmt::format("setpci -s {} ECAP_ACS+0x6.w=0000", bridge));
  }
  return {std::move(finding)};
}

Findings subnets(const Facts& facts) {
  Findings all;
  for (const std::vector<std::string>& interfaces : facts.shared_subnets) {
    all.push_back(found(
        Severity::note,
        fmt::format("{} are in one IPv4 subnet, and each replies to ARP for the addresses of the "
                    "others: traffic may use the wrong interface",
                    join(interfaces, ", ")),
        "set arp_ignore to 1 and arp_announce to 2, and add a routing rule for each interface",
        {"sysctl -w net.ipv4.conf.all.arp_ignore=1",
         "sysctl -w net.ipv4.conf.all.arp_announce=2"}));
  }
  return all;
}

Findings gpu_faults(const Facts& facts) {
  if (facts.gpu_faults.empty()) return {};
  const std::vector<std::string> faults(facts.gpu_faults.begin(), facts.gpu_faults.end());
  return {found(Severity::warning,
                "the kernel's log has faults of GPUs since the start: " + join(faults, ", "),
                "look up the numbers in NVIDIA's list of Xid errors; a restart of the machine "
                "clears the log")};
}

Findings gpu_direct(const Facts& facts) {
  if (!uses_rdma(facts) || facts.gpu_functions == 0 || facts.has_peer_memory) return {};
  return {found(Severity::note,
                "nvidia_peermem is not loaded: without this module GPUDirect RDMA needs DMA-BUF, "
                "and DMA-BUF needs NVIDIA's open kernel modules",
                "load nvidia_peermem, unless NCCL's log already contains GDRDMA",
                {"modprobe nvidia_peermem"})};
}

Findings bonds(const Facts& facts) {
  Findings all;
  for (const fabric::Interface& interface : facts.network.interfaces) {
    for (const fabric::Leg& leg : interface.legs) {
      if (leg.is_up) continue;
      all.push_back(found(Severity::warning,
                          fmt::format("{} of {} is down", leg.interface, interface.name),
                          "the bond has less bandwidth until this leg is up again"));
    }
  }
  return all;
}

Findings own_settings(const Facts& facts) {
  Findings all;
  for (std::string& sentence : fabric::contradictions(facts.network)) {
    all.push_back(found(Severity::warning, std::move(sentence),
                        "correct or remove this setting where it is set (the shell's files, the "
                        "job's script, toprun.toml or nccl.conf); `toprun net env` shows the "
                        "settings that fit this machine, and why"));
  }
  for (std::string& sentence : fabric::without_effect(facts.network)) {
    all.push_back(found(Severity::note, std::move(sentence),
                        "correct or remove this setting where it is set"));
  }
  return all;
}

Findings own_name(const Facts& facts) {
  if (!facts.network.own_name_leads_astray) return {};
  const std::string& led = facts.own_name_leads_to;
  return {found(Severity::warning,
                led.empty() ? "the host's name does not resolve"
                            : fmt::format("the host's name resolves to {}, which is not one of its "
                                          "addresses on a network",
                                          led),
                "make /etc/hosts or DNS resolve it to an address of the host's network; until then "
                "toprun sets GLOO_SOCKET_IFNAME in jobs of several nodes")};
}

Findings temporary_folder(const Facts& facts) {
  if (!facts.temporary) return {};
  const Space& folder = *facts.temporary;
  if (!folder.why_not_writable.empty() && facts.is_tmpdir_set && folder.path != "/tmp") {
    return {found(Severity::warning,
                  fmt::format("TMPDIR={}: {}", folder.path, folder.why_not_writable),
                  "correct or unset TMPDIR: toprun and Python often use /tmp instead, but some "
                  "launches fail (in containers, by mpirun, with --detach)")};
  }
  if (!folder.why_not_writable.empty()) {
    return {found(Severity::error,
                  fmt::format("{} cannot be written: {}", folder.path, folder.why_not_writable),
                  "set TMPDIR")};
  }
  if (facts.temporary->free_bytes > little_space_bytes) return {};
  return {found(
      Severity::error,
      fmt::format("{} has {} MiB left", facts.temporary->path, facts.temporary->free_bytes >> 20),
      "remove old files from this folder, or set TMPDIR")};
}

Findings backlog(const Facts& facts) {
  if (!facts.listen_backlog || *facts.listen_backlog >= short_backlog) return {};
  return {found(Severity::note,
                fmt::format("net.core.somaxconn is {}: if more ranks connect at once, their "
                            "connections wait for a retry",
                            *facts.listen_backlog),
                "raise net.core.somaxconn on the host of rank 0",
                {"sysctl -w net.core.somaxconn=65535"})};
}

Findings connections(const Facts& facts) {
  if (!facts.tracked_connections) return {};
  const auto& [count, limit] = *facts.tracked_connections;
  if (static_cast<double>(count) < full_share * static_cast<double>(limit)) return {};
  return {found(
      Severity::warning,
      fmt::format("the firewall tracks {} connections of at most {}: it will drop new connections",
                  count, limit),
      "raise nf_conntrack_max, or exclude the cluster's own network from connection tracking",
      {fmt::format("sysctl -w net.netfilter.nf_conntrack_max={}", 4 * limit)})};
}

Findings memory(const Facts& facts) {
  if (!facts.memory_limit_bytes || !facts.memory_used_bytes) return {};
  const auto limit = static_cast<double>(*facts.memory_limit_bytes);
  const auto used = static_cast<double>(*facts.memory_used_bytes);
  if (used < full_share * limit) return {};
  return {found(Severity::warning,
                fmt::format("{:.0f} of the cgroup's {:.0f} MiB of memory are in use",
                            used / (1 << 20), limit / (1 << 20)),
                "raise the limit: the kernel kills a process of this cgroup that needs more")};
}

Findings clock(const Facts& facts) {
  if (!facts.clock_is_synchronised || *facts.clock_is_synchronised) return {};
  return {found(Severity::note, "the kernel's clock is not synchronised",
                "run chrony or timesyncd: until then, times in the logs of several hosts cannot be "
                "compared")};
}

Findings gpus(const Facts& facts) {
  if (!facts.gpu_trouble.empty()) {
    return {found(Severity::error, "nvidia-smi does not answer: " + facts.gpu_trouble,
                  "reset the GPU or restart the host: the driver or a GPU hangs")};
  }
  Findings all;
  for (const Gpu& gpu : facts.gpus) {
    if (gpu.needs_reset) {
      all.push_back(found(Severity::error,
                          fmt::format("GPU {} has failed and needs a reset", gpu.index),
                          "reset the GPU; if the driver refuses this, restart the host",
                          {fmt::format("nvidia-smi --gpu-reset -i {}", gpu.index)}));
    }
    if (gpu.uncorrected_errors.value_or(0) == 0) continue;
    all.push_back(found(
        Severity::error,
        fmt::format("GPU {} has {} uncorrected memory errors", gpu.index, *gpu.uncorrected_errors),
        "reset the GPU; replace it if the errors come back",
        {fmt::format("nvidia-smi --gpu-reset -i {}", gpu.index)}));
  }
  const bool idle = std::ranges::any_of(facts.gpus, [](const Gpu& g) { return !g.is_persistent; });
  if (idle) {
    all.push_back(found(Severity::note,
                        "persistence mode is off: the first process of a job waits for the driver",
                        "switch persistence mode on", {"nvidia-smi -pm 1"}));
  }
  return all;
}

// CUDA fails with error 802 (system not yet initialized) until a GPU of a machine with NVSwitches,
// or of a rack with NVLink, has joined its fabric.
Findings nvlink_fabric(const Facts& facts) {
  Findings all;
  for (const Gpu& gpu : facts.gpus) {
    const bool is_ready = gpu.fabric_state.empty() || gpu.fabric_state == "Completed";
    const bool is_sound = gpu.fabric_status.empty() || gpu.fabric_status == "Success";
    if (is_ready && is_sound) continue;
    all.push_back(
        found(Severity::error,
              fmt::format("GPU {} has not joined the NVLink fabric: {}", gpu.index,
                          is_ready ? gpu.fabric_status : gpu.fabric_state),
              "check the fabric manager (in a rack with NVLink, check it on the rack's switches)",
              {"systemctl restart nvidia-fabricmanager"}));
  }
  return all;
}

std::string amount_text(std::int64_t amount, std::string_view unit) {
  if (unit == bytes_unit) return fmt::format("{:.3g} MiB", static_cast<double>(amount) / (1 << 20));
  return fmt::format("{} {}", amount, unit);
}

// A user raises a limit to the hard limit only.
void keep_to_hard_limit(const Need& need, const Facts& facts, Finding& finding) {
  const auto& hard = facts.highest_limits.*need.amount;
  if (!need.is_limit || !hard) return;
  const std::size_t value = need.command.rfind(' ') + 1;
  if (*hard >= parse_int(need.command.substr(value)).value_or(INT64_MAX)) return;
  finding.commands.clear();
  std::string command;
  if (*(facts.resources.*need.amount) < *hard) {
    const std::int64_t unit = need.unit == bytes_unit ? 1024 : 1;  // of `ulimit -l`
    command = fmt::format("{}{}", need.command.substr(0, value), *hard / unit);
  }
  finding.fix = fix_of(need, command);
  if (!need.is_short(*hard, large_job)) finding.commands.push_back(std::move(command));
}

Findings shortage(const Facts& facts, const Need& need) {
  if (!is_short(need, facts.resources, large_job)) return {};
  const std::string amount = amount_text(*(facts.resources.*need.amount), need.unit);
  const bool is_for_small = !is_short(need, facts.resources, small_job);
  const bool is_fatal = need.amount == &Resources::open_files &&
                        facts.most_open_files.value_or(INT64_MAX) < fewest_files;
  Finding finding = found(is_fatal       ? Severity::error
                          : is_for_small ? Severity::note
                                         : need.severity,
                          fmt::format("{} ({}): {}", need.what, amount,
                                      is_fatal ? "even small jobs need more" : need.because),
                          fix_of(need, need.command));
  if (!need.command.empty()) finding.commands.emplace_back(need.command);
  keep_to_hard_limit(need, facts, finding);
  return {std::move(finding)};
}

// Only what is seen: PyTorch may lie where toprun does not look, as of an editable install.
Findings python(const Facts& facts) {
  if (const auto& trouble = facts.python_trouble) {
    return {
        found(Severity::error,
              fmt::format("a launch from here fails: {}: {}", (*trouble)->what, (*trouble)->why),
              (*trouble)->fix.empty() ? "correct or unset it" : (*trouble)->fix)};
  }
  const Installed& installed = facts.installed;
  if (installed.path.empty()) return {};
  const std::string version = installed.python.empty() ? "" : " " + installed.python;
  const std::string python = fmt::format("Python{} ({})", version, installed.path);
  if (!installed.torch.empty())
    return {found(Severity::ok, python + ", PyTorch " + installed.torch, "")};
  const std::string_view what = installed.python.empty()
                                    ? "toprun cannot tell its version, nor whether it has PyTorch"
                                    : "no PyTorch in its usual folders";
  return {found(Severity::note, fmt::format("{}: {}", python, what),
                "a launch from here uses this Python; `toprun --venv DIR` chooses another one")};
}

constexpr std::array checks = {
    Check{"rdma-ports", "all RDMA ports are active", rdma_ports, Subject::rdma},
    Check{"rdma-gids", "every RoCE port has a GID that can be routed", rdma_gids, Subject::rdma},
    Check{"rdma-rates", "the RDMA ports have one rate", rdma_rates, Subject::rdma},
    Check{"rdma-mtu", "the MTU is large enough for RDMA", rdma_mtu, Subject::rdma},
    Check{"verbs", "RDMA devices can be opened", verbs_devices, Subject::rdma},
    Check{"verbs-library", "NCCL finds libibverbs", verbs_library, Subject::rdma},
    Check{"gpudirect", "adapters reach GPU memory", gpu_direct, Subject::rdma_and_gpus},
    Check{"pcie-lanes", "adapters and GPUs run on all PCIe lanes", pcie_lanes,
          Subject::rdma_or_gpus},
    Check{"pci-redirection", "PCI bridges forward the traffic between devices", pci_redirection,
          Subject::rdma_or_gpus},
    Check{"subnets", "no interface answers ARP requests for another interface", subnets,
          Subject::machine, [](const Facts& facts) { return facts.has_routes; }},
    Check{"bonds", "all legs of bonds are up", bonds, Subject::bonds},
    Check{"nccl-settings", "no setting that toprun checks contradicts this machine", own_settings},
    Check{"own-name", "the host's name resolves to one of its addresses", own_name,
          Subject::machine, in_no_copy},
    Check{"temporary-folder", "the folder for temporary files has free space", temporary_folder,
          Subject::machine, in_no_copy},
    Check{"listen-backlog", "the host accepts many connections at once", backlog, Subject::machine,
          [](const Facts& facts) { return facts.listen_backlog.has_value(); }},
    Check{"connections", "the firewall can track more connections", connections, Subject::machine,
          [](const Facts& facts) { return facts.tracked_connections.has_value(); }},
    Check{"memory", "the cgroup has memory left", memory, Subject::machine,
          [](const Facts& facts) { return facts.memory_limit_bytes.has_value(); }},
    Check{"python", "no Python of a launch is known here", python, Subject::machine, in_no_copy},
    Check{"clock", "the clock is synchronised", clock, Subject::machine, in_no_copy},
    Check{"gpus", "no GPU reports errors", gpus, Subject::gpus},
    Check{"nvlink-fabric", "all GPUs have joined the NVLink fabric", nvlink_fabric, Subject::gpus},
    Check{"gpu-faults", "the kernel's log has no fault of a GPU", gpu_faults, Subject::gpus},
};

}  // namespace

std::string_view name_of(Severity severity) {
  return severity_names[static_cast<std::size_t>(severity)];
}

Severity severity_of(std::string_view name) {
  const auto found = std::ranges::find(severity_names, name);
  return found == severity_names.end() ? Severity::note
                                       : static_cast<Severity>(found - severity_names.begin());
}

std::vector<Finding> examine(const Facts& facts) {
  std::vector<Finding> all;
  const auto add = [&](std::string_view id, std::string_view fine, Findings findings,
                       std::string_view missing, bool is_unknown) {
    if (is_unknown) missing = "unknown: the copy does not contain it";
    if (findings.empty()) {
      findings.push_back(found(Severity::ok, std::string(missing.empty() ? fine : missing), ""));
      findings.back().is_idle = !missing.empty();
      findings.back().is_unknown = is_unknown;
    }
    for (Finding& finding : findings) {
      finding.id = id;
      all.push_back(std::move(finding));
    }
  };
  for (const Check& check : checks) {
    add(check.id, check.fine, check.look(facts), missing(check.subject, facts),
        is_unknown(check, facts));
  }
  for (const Need& need : needs()) {
    const bool is_of_rdma = need.amount == &Resources::locked_bytes;
    add(need.id, need.fine, shortage(facts, need), is_of_rdma ? missing(Subject::rdma, facts) : "",
        facts.is_copy && !(facts.resources.*need.amount));
  }
  return all;
}

std::size_t place_of_check(std::string_view id) {
  return static_cast<std::size_t>(std::ranges::find(checks, id, &Check::id) - checks.begin());
}

Severity worst_of(const std::vector<Finding>& findings) {
  Severity worst = Severity::ok;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

}  // namespace toprun::doctor
