#include "machine/doctor/resources.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/text/text.h"

namespace toprun::doctor {
namespace {

constexpr std::int64_t tiny_shm_bytes = 64 << 20;  // a container's default (docker run --shm-size)
// The files of a Python with torch; then one connection for each peer of a full mesh, or in the
// agent the pipes and log files of each worker.
constexpr std::int64_t own_files = 256;
constexpr std::int64_t files_per_worker = 8;
// A worker's threads count as processes: torch, the data loader, NCCL or Gloo.
constexpr std::int64_t processes_per_worker = 64;
constexpr std::int64_t little_locked_bytes = 1 << 30;
constexpr std::int64_t few_ports = 1'000;

// Whether the kernel ignores a limit because of this capability.
bool is_privileged(int capability) {
  return ::geteuid() == 0 && ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
}

std::optional<std::int64_t> limit_of(const Limits& limits, int resource, rlim_t rlimit::*kind) {
  const rlim_t limit = limits[static_cast<std::size_t>(resource)].*kind;
  if (limit == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit, INT64_MAX));
}

std::optional<std::int64_t> shm_free_bytes() {
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) != 0) return std::nullopt;
  return static_cast<std::int64_t>(shm.f_bavail * shm.f_frsize);
}

constexpr std::array all_needs = {
    Need{"locked-memory", "enough memory may be locked", Severity::error, &Resources::locked_bytes,
         [](std::int64_t bytes, const Demand&) { return bytes < little_locked_bytes; },
         "the limit on locked memory is low", bytes_unit, "RDMA registers all its buffers",
         "LimitMEMLOCK= of slurmd (Slurm), memlock in limits.conf (ssh) or --ulimit memlock=-1 "
         "(container)",
         "ulimit -l unlimited", true},
    Need{"shared-memory", "/dev/shm has room", Severity::error, &Resources::shm_free_bytes,
         [](std::int64_t bytes, const Demand& demand) {
           return demand.ranks > 1 && bytes <= tiny_shm_bytes;
         },
         "/dev/shm has 64 MiB or less left", bytes_unit,
         "data loaders and NCCL need more memory there",
         "remove old files there; for a container, use --shm-size 8g; in Kubernetes, use an "
         "emptyDir with medium: Memory",
         ""},
    Need{"open-files", "enough files may be open", Severity::warning, &Resources::open_files,
         [](std::int64_t files, const Demand& demand) {
           return files < own_files + std::max(files_per_worker * demand.ranks, demand.world_size);
         },
         "the limit on open files is low", "files",
         "a process of a large job has a connection to each rank",
         "LimitNOFILE= of slurmd (Slurm) or nofile in limits.conf (ssh)", "ulimit -n 65536", true},
    Need{"processes", "enough processes are allowed", Severity::warning, &Resources::processes,
         [](std::int64_t processes, const Demand& demand) {
           return processes < processes_per_worker * demand.ranks;
         },
         "the limit on processes and threads is low", "processes",
         "data loaders and NCCL start many processes and threads",
         "TasksMax= and LimitNPROC= of slurmd (Slurm) or nproc in limits.conf (ssh)",
         "ulimit -u 65536", true},
    Need{"ports", "enough ports are left", Severity::warning, &Resources::free_ports,
         [](std::int64_t ports, const Demand&) { return ports < few_ports; },
         "few ports are left for connections", "ports", "each connection takes one port",
         "end the programs that use the ports, or widen net.ipv4.ip_local_port_range",
         "sysctl -w net.ipv4.ip_local_port_range='16000 60999'"},
};

}  // namespace

Limits own_limits() {
  Limits limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (::getrlimit(static_cast<__rlimit_resource>(i), &limits[i]) != 0) {
      limits[i].rlim_cur = RLIM_INFINITY;
    }
  }
  return limits;
}

Resources read_resources(const fabric::Sysfs& sysfs, const Limits& limits) {
  Resources resources;
  resources.shm_free_bytes = shm_free_bytes();
  resources.open_files = limit_of(limits, RLIMIT_NOFILE, &rlimit::rlim_cur);
  // setrlimit(2): each of the two lifts the limit.
  if (!is_privileged(CAP_SYS_RESOURCE) && !is_privileged(CAP_SYS_ADMIN))
    resources.processes = limit_of(limits, RLIMIT_NPROC, &rlimit::rlim_cur);
  if (!is_privileged(CAP_IPC_LOCK) && !sysfs.names("sys/class/infiniband").empty()) {
    resources.locked_bytes = limit_of(limits, RLIMIT_MEMLOCK, &rlimit::rlim_cur);
  }
  resources.free_ports = free_ports(sysfs);
  return resources;
}

Resources highest_limits(const Limits& limits) {
  Resources highest;
  if (is_privileged(CAP_SYS_RESOURCE)) return highest;
  highest.open_files = limit_of(limits, RLIMIT_NOFILE, &rlimit::rlim_max);
  highest.processes = limit_of(limits, RLIMIT_NPROC, &rlimit::rlim_max);
  highest.locked_bytes = limit_of(limits, RLIMIT_MEMLOCK, &rlimit::rlim_max);
  return highest;
}

std::optional<std::int64_t> free_ports(const fabric::Sysfs& sysfs) {
  const auto range = sysfs.text("proc/sys/net/ipv4/ip_local_port_range");
  const auto sockets = sysfs.text("proc/net/sockstat");
  if (!range || !sockets) return std::nullopt;
  const auto ends = words(*range);
  if (ends.size() != 2) return std::nullopt;
  std::int64_t free = parse_int(ends[1]).value_or(0) - parse_int(ends[0]).value_or(0) + 1;
  for (const std::string_view line : split(*sockets, '\n')) {
    const auto fields = words(line);
    if (fields.size() > 2 && fields[0] == "TCP:") free -= parse_int(fields[2]).value_or(0);
  }
  return free;
}

std::span<const Need> needs() {
  return all_needs;
}

std::string fix_of(const Need& need, std::string_view command) {
  if (!need.is_limit) return std::string(need.fix);
  constexpr std::size_t letter = std::string_view("ulimit -").size();
  return fmt::format(
      "{}{}{}above the hard limit (`ulimit -H{}`), and on other hosts, an administrator sets {}",
      command.empty() ? "" : "run `", command, command.empty() ? "" : "` before toprun; ",
      need.command[letter], need.fix);
}

bool is_short(const Need& need, const Resources& resources, const Demand& demand) {
  const auto& amount = resources.*need.amount;
  return amount && need.is_short(*amount, demand);
}

}  // namespace toprun::doctor
