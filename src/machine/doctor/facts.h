#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/doctor/installed.h"
#include "machine/doctor/resources.h"
#include "machine/fabric/devices.h"
#include "machine/fabric/pci.h"
#include "machine/fabric/settings.h"
#include "machine/fabric/sysfs.h"

namespace toprun::doctor {

// A PCIe link that uses fewer lanes than both of its ends support.
struct NarrowLink {
  std::string name;  // the adapter's name, or "GPU 0000:1a:00.0"
  int lanes = 0;
  int possible_lanes = 0;
};
// Finds narrow links. Compares only the numbers of lanes, not the speeds, because an idle device
// lowers its link's speed on purpose.
std::vector<NarrowLink> narrow_links(const fabric::Sysfs& sysfs,
                                     std::span<const fabric::Device> devices,
                                     std::span<const fabric::PciPlace> gpus);

// Returns the addresses of PCI bridges that redirect traffic between devices through the CPU. Only
// bridges above these PCI functions are examined. The cause of this redirection is P2P Request
// Redirect in the bridge's Access Control Services (PCI Express Base Specification, "ACS Extended
// Capability"). Only root can read the registers; for other users the list is empty.
std::vector<std::string> redirecting_bridges(const fabric::Sysfs& sysfs,
                                             std::span<const fabric::PciPlace> functions);
// Whether "P2P Request Redirect" is on in `config`, a PCI bridge's configuration space.
bool redirects_requests(std::string_view config);

// Returns sets of interfaces with addresses in the same IPv4 subnet (/proc/net/route). Empty if the
// kernel does not answer ARP requests for one interface's address on another interface (arp_ignore
// above 0).
std::vector<std::vector<std::string>> shared_subnets(const fabric::Sysfs& sysfs);

// Whether libibverbs, which NCCL loads for RDMA, is in the usual folders or in LD_LIBRARY_PATH.
bool has_verbs_library(const fabric::Sysfs& sysfs, const Environment& environment);

// Returns NVIDIA's codes for GPU faults since the machine's boot, from the kernel's log: "Xid 79 of
// 0000:1a:00". Codes for a program's own errors are left out. Empty for users without permission to
// read the log.
std::set<std::string> logged_gpu_faults();
// Returns the fault in a record of the kernel's log; empty if there is no fault. A record with a
// fault is "6,12,345,-;NVRM: Xid (PCI:0000:1a:00): 79, …".
std::string gpu_fault_in(std::string_view record);

struct Space {
  std::string path;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::string why_not_writable{};  // empty: it is writable
};

// A GPU as described by nvidia-smi.
struct Gpu {
  std::string index;
  bool is_persistent = false;                        // persistence mode; also true if the driver
                                                     // does not report it
  std::optional<std::int64_t> uncorrected_errors{};  // since the driver was loaded; unset: no ECC
  // The state and status of the GPU's registration with the NVLink fabric (normally "Completed" and
  // "Success"). Empty: the GPU belongs to no NVLink fabric, or the driver does not report the
  // registration.
  std::string fabric_state{}, fabric_status{};
  bool needs_reset = false;  // true: the driver reports only that the GPU needs a reset
};

// Another host of the job and the addresses that its name resolves to on this host, in a fixed
// order. No addresses: the name could not be resolved in time.
struct Peer {
  std::string name;
  std::vector<std::string> addresses;
};
inline constexpr std::size_t max_peers = 16;

// The kernel's table of connections that a firewall tracks: its number of entries and its limit.
struct TrackedConnections {
  std::int64_t count = 0, limit = 0;
};

// The input of the checks. nullopt: the fact is unknown on this machine; an unknown fact never
// causes a finding.
struct Facts {
  bool is_copy = false;                    // of another machine's files
  bool has_sys = true, has_routes = true;  // /sys/class/net, /proc/net/route
  fabric::NodeFabric network;
  // The addresses to which this host's own name resolves. Empty if other hosts can reach this host
  // by its name.
  std::string own_name_leads_to;
  int gpu_functions = 0;           // number of GPUs on the PCI bus
  bool has_verbs_devices = false;  // /dev/infiniband/uverbs*
  bool has_peer_memory = false;    // the kernel module with which adapters access GPU memory
  Resources resources;             // for this process
  Resources highest_limits;        // to which this user may raise them
  std::optional<std::int64_t> most_open_files;  // the hard limit, to which a launch raises its own
  std::optional<Space> temporary;
  bool is_tmpdir_set = false;                  // TMPDIR names `temporary`
  std::optional<std::int64_t> listen_backlog;  // net.core.somaxconn
  std::optional<TrackedConnections> tracked_connections;
  std::optional<std::int64_t> memory_limit_bytes, memory_used_bytes;  // in the cgroup
  std::optional<bool> clock_is_synchronised;
  std::vector<Gpu> gpus;
  std::string gpu_trouble;            // why nvidia-smi failed
  std::string nvidia_driver, kernel;  // versions
  std::vector<std::string> firmware;  // firmware versions of the RDMA adapters, each once
  int processors = 0;                 // available to this process; 0: unknown
  std::vector<Peer> peers;
  bool has_verbs_library = true;
  std::vector<NarrowLink> narrow_links;
  std::vector<std::string> redirecting_bridges;  // PCI bridges above GPUs and RDMA adapters

  std::vector<std::vector<std::string>> shared_subnets;  // interfaces that share a subnet
  std::set<std::string> gpu_faults;                      // since the machine's boot
  Installed installed;                                   // in the Python that a launch would use
  std::optional<Error> python_trouble;                   // why a launch would find no Python
};

// Reads the facts about this machine, or about a machine whose files were copied to the root of
// `sysfs`. Such a copy contains no limits, no clock and no GPUs, so these facts are unknown. Blocks
// for a few milliseconds, and up to gpu_limit longer if NVIDIA's driver is loaded.
Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment);

// Looks up the addresses of at most max_peers of `names`: the first name, and others at even
// distances in the list. The host's own name is left out, because it often resolves to a loopback
// address. Blocks for at most peers_limit.
std::vector<Peer> look_up(const std::vector<std::string>& names, const std::string& own);
inline constexpr std::chrono::milliseconds peers_limit{2'000};

// Parses "0, Enabled, 0" lines from nvidia-smi
// --query-gpu=index,persistence_mode,ecc.errors.uncorrected.volatile.total --format=csv,noheader.
// If the query also names fabric.state,fabric.status, which older drivers do not support, the lines
// are "0, Enabled, 0, Completed, Success".
std::vector<Gpu> parse_gpus(std::string_view text);

}  // namespace toprun::doctor
