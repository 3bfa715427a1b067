#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "machine/doctor/hardware.h"
#include "machine/doctor/installed.h"
#include "machine/doctor/resources.h"
#include "machine/fabric/settings.h"
#include "machine/fabric/sysfs.h"

namespace toprun::doctor {

struct Space {
  std::string path;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  bool is_writable = true;
};

// A GPU as described by nvidia-smi.
struct Gpu {
  std::string index;
  bool is_persistent = false;                        // persistence mode; also true if the driver
                                                     // does not report it
  std::optional<std::int64_t> uncorrected_errors{};  // since the driver was loaded; unset: no ECC
  // The state and status of the GPU's registration with the NVLink fabric (normally "Completed" and
  // "Success"). Empty: no fabric, or the driver does not report it.
  std::string fabric_state{}, fabric_status{};
  bool needs_reset = false;  // true: the driver reports only that the GPU needs a reset
};

// Another host of the job and the addresses that its name resolves to on this host, in a fixed
// order. Empty: no address was found in time.
struct Peer {
  std::string name;
  std::vector<std::string> addresses;
};
inline constexpr std::size_t max_peers = 16;

// The size and limit of the kernel's table of connections that a firewall tracks.
struct TrackedConnections {
  std::int64_t count = 0, limit = 0;
};

// The input of the checks. nullopt: the fact is unknown on this machine; an unknown fact never
// causes a finding.
struct Facts {
  fabric::NodeFabric network;
  std::string own_name_leads_to;   // the addresses of the host's name, if none of them belongs to
                                   // this host; else empty
  int gpu_functions = 0;           // number of GPUs on the PCI bus
  bool has_verbs_devices = false;  // /dev/infiniband/uverbs*
  bool has_peer_memory = false;    // the kernel module with which adapters access GPU memory
  Resources resources;             // for this process
  std::optional<Space> temporary;
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
  std::vector<std::string> redirecting_bridges;          // PCI bridges above GPUs and RDMA adapters
                                                         // (hardware.h)
  std::vector<std::vector<std::string>> shared_subnets;  // interfaces that share a subnet
  std::set<std::string> gpu_faults;                      // since the machine's boot
  Installed installed;                                   // in the Python that a launch would use
};

// The facts about this machine, or about a machine whose files were copied to the root of `sysfs`.
// Such a copy has no limits, clock or GPUs. Blocks for a few milliseconds, and up to gpu_limit
// longer if NVIDIA's driver is loaded.
Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment);

// Looks up at most max_peers of these names, evenly spread and including the first. The host's own
// name is left out, because it often resolves to a loopback address. Blocks for at most
// peers_limit.
std::vector<Peer> look_up(const std::vector<std::string>& names, const std::string& own);
inline constexpr std::chrono::milliseconds peers_limit{2'000};

// Parses "0, Enabled, 0" lines from nvidia-smi
// --query-gpu=index,persistence_mode,ecc.errors.uncorrected.volatile.total --format=csv,noheader.
// With fabric.state,fabric.status, which older drivers do not support, the lines are "0, Enabled,
// 0, Completed, Success".
std::vector<Gpu> parse_gpus(std::string_view text);

}  // namespace toprun::doctor
