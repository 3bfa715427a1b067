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

// A GPU as nvidia-smi describes it.
struct Gpu {
  std::string index;
  bool is_persistent = false;                        // also where the driver does not tell
  std::optional<std::int64_t> uncorrected_errors{};  // since the driver was loaded; none: no ECC
  // Of its registration with the NVLink fabric ("Completed" and "Success"); empty: it has none, or
  // the driver does not tell.
  std::string fabric_state{}, fabric_status{};
  bool needs_reset = false;  // the driver says so instead of values
};

// Another host of the job and the addresses that its name has here, in a fixed order; empty: none
// was found in time.
struct Peer {
  std::string name;
  std::vector<std::string> addresses;
};
inline constexpr std::size_t max_peers = 16;

// The kernel's table of connections that a firewall follows.
struct TrackedConnections {
  std::int64_t count = 0, limit = 0;
};

// What the checks look at. nullopt: it cannot be known here, and is then held against no host.
struct Facts {
  fabric::NodeFabric network;
  std::string own_name;            // the host's, and …
  std::string own_name_leads_to;   // … the addresses that it leads to, if to none of its own
  int gpu_functions = 0;           // by PCI
  bool has_verbs_devices = false;  // /dev/infiniband/uverbs*
  bool has_peer_memory = false;    // the kernel module by which adapters reach GPU memory
  Resources resources;             // of this process
  std::optional<Space> temporary;
  std::optional<std::int64_t> listen_backlog;  // net.core.somaxconn
  std::optional<TrackedConnections> tracked_connections;
  std::optional<std::int64_t> memory_limit_bytes, memory_used_bytes;  // of the cgroup
  std::optional<bool> clock_is_synchronised;
  std::vector<Gpu> gpus;
  std::string gpu_trouble;            // why nvidia-smi did not answer
  std::string nvidia_driver, kernel;  // versions
  std::vector<std::string> firmware;  // versions of the RDMA adapters, each once
  int processors = 0;                 // that this process may use; 0: unknown
  std::vector<Peer> peers;
  bool has_verbs_library = true;
  std::vector<NarrowLink> narrow_links;
  std::vector<std::string> redirecting_bridges;          // above GPUs and RDMA adapters
  std::vector<std::vector<std::string>> shared_subnets;  // interfaces
  std::set<std::string> gpu_faults;                      // since the start of the machine
  Installed installed;                                   // of the Python that a launch would take
};

// Of this machine, or of the copy below `root`, which has no limits, clock or GPUs of its own.
// Blocks for a few milliseconds; where NVIDIA's driver is loaded up to gpu_limit more.
Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment);

// Looks up max_peers of these names, spread evenly, the first among them, but not the host's own,
// which often has a loopback address. Blocks, for peers_limit at most.
std::vector<Peer> look_up(const std::vector<std::string>& names, const std::string& own);
inline constexpr std::chrono::milliseconds peers_limit{2'000};

// "0, Enabled, 0" lines of nvidia-smi --query-gpu=index,persistence_mode,
// ecc.errors.uncorrected.volatile.total --format=csv,noheader, or "0, Enabled, 0, Completed,
// Success" with fabric.state,fabric.status, which older drivers do not know.
std::vector<Gpu> parse_gpus(std::string_view text);

}  // namespace toprun::doctor
