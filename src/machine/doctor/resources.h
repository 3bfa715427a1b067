#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/doctor/finding.h"
#include "machine/fabric/sysfs.h"

namespace toprun::doctor {

// The resources that a job's processes can use on a machine, given the processes' limits. nullopt:
// the resource is unlimited or unknown, so `toprun doctor` reports nothing about it.
struct Resources {
  std::optional<std::int64_t> shm_free_bytes;  // in /dev/shm
  std::optional<std::int64_t> open_files;      // soft limit of each process
  std::optional<std::int64_t> processes;       // soft limit of the user
  std::optional<std::int64_t> locked_bytes;    // only on machines with RDMA devices
  std::optional<std::int64_t> free_ports;      // in the kernel's range for outgoing connections
};

// What a job needs on one of its nodes.
struct Demand {
  std::int64_t ranks = 1;       // on this node
  std::int64_t world_size = 1;  // of the job
};
// One node's demand in a large job. `toprun doctor` uses this demand, because it does not know for
// which job the machine will be used.
inline constexpr Demand large_job{64, 3'840};
// The demand of a job on one machine. What is enough for such a job, but not for a large one, is
// only a note.
inline constexpr Demand small_job{8, 8};

using Limits = std::array<rlimit, RLIM_NLIMITS>;
Limits own_limits();

// Reads this machine's resources for processes with these limits. Takes well below 1 ms.
Resources read_resources(const fabric::Sysfs& sysfs, const Limits& limits);

// Returns the values to which this process may raise its limits (setrlimit(2): the hard limits,
// unless it has CAP_SYS_RESOURCE). nullopt: any value.
Resources highest_limits(const Limits& limits);

// Returns the number of ports in the kernel's range (/proc/sys/net/ipv4/ip_local_port_range), minus
// the TCP sockets in use (/proc/net/sockstat). The result is a lower bound, because one port can
// serve connections to several hosts.
std::optional<std::int64_t> free_ports(const fabric::Sysfs& sysfs);

inline constexpr std::string_view bytes_unit = "bytes";

// A check for a resource that may be too small for a job. `toprun doctor` reports a finding for one
// machine. A launch reports a finding in one line for all nodes of the job.
struct Need {
  std::string_view id;    // the check's id: "open-files"
  std::string_view fine;  // the text if there is enough of the resource
  Severity severity;
  std::optional<std::int64_t> Resources::*amount;
  bool (*is_short)(std::int64_t amount, const Demand& demand);
  std::string_view what;     // "the limit on open files is low"
  std::string_view unit;     // the unit of the amount: bytes_unit, "files"
  std::string_view because;  // what the job needs the resource for
  std::string_view fix;      // of a limit: what an administrator sets
  std::string_view command;  // for --fix; empty: no command
  bool is_limit = false;     // `command` is a `ulimit`, which a user runs up to the hard limit
};
// Returns what to do. `command`: the `ulimit` to run; empty: none helps.
std::string fix_of(const Need& need, std::string_view command);
std::span<const Need> needs();
bool is_short(const Need& need, const Resources& resources, const Demand& demand);

}  // namespace toprun::doctor
