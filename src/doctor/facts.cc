#include "doctor/facts.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "fabric/pci.h"
#include "fabric/profile_script.h"
#include "hosts/address.h"
#include "hosts/resolve.h"
#include "process/command.h"

namespace toprun::doctor {
namespace {

constexpr std::chrono::milliseconds own_name_limit{2'000};
constexpr std::chrono::seconds gpu_limit{5};

std::optional<std::int64_t> soft_limit(int resource, int capability) {
  if (::geteuid() == 0 && ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1) return std::nullopt;
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

std::optional<std::int64_t> open_files_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

std::optional<Space> space_of(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
  return Space{path, status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize,
               ::access(path.c_str(), W_OK | X_OK) == 0};
}

// The range less the sockets in use (proc(5), net/sockstat): a lower bound.
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

// The nearest limit of the process's cgroup (version 2) or of those around it.
void read_memory(const fabric::Sysfs& sysfs, Facts& facts) {
  const auto own = sysfs.text("proc/self/cgroup");
  const auto colons = own ? own->find("0::/") : std::string::npos;
  if (colons == std::string::npos) return;
  std::string path = own->substr(colons + 4, own->find('\n', colons) - colons - 4);
  while (true) {
    const std::string folder = "sys/fs/cgroup/" + path + (path.empty() ? "" : "/");
    if (const auto limit = sysfs.number(folder + "memory.max")) {
      facts.memory_limit_bytes = limit;
      facts.memory_used_bytes = sysfs.number(folder + "memory.current");
      return;
    }
    if (path.empty()) return;
    const auto slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash);
  }
}

std::optional<bool> clock_is_synchronised() {
  struct timex state {};
  const int status = ::adjtimex(&state);
  if (status < 0) return std::nullopt;
  return status != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

void read_gpus(const fabric::Sysfs& sysfs, const Environment& environment, Facts& facts) {
  if (!sysfs.exists("dev/nvidiactl")) return;
  const auto text = process::output_of(
      {"nvidia-smi", "--query-gpu=index,persistence_mode,ecc.errors.uncorrected.volatile.total",
       "--format=csv,noheader"},
      environment, gpu_limit);
  if (!text) {
    facts.gpu_trouble = text.error().line();
  } else {
    facts.gpus = parse_gpus(*text);
  }
}

void read_own_machine(const fabric::Sysfs& sysfs, const Environment& environment, Facts& facts) {
  facts.open_files = open_files_limit();
  facts.processes = soft_limit(RLIMIT_NPROC, CAP_SYS_RESOURCE);
  facts.locked_bytes = soft_limit(RLIMIT_MEMLOCK, CAP_IPC_LOCK);
  facts.shm = space_of("/dev/shm");
  const std::string temporary = environment.non_empty("TMPDIR").value_or("/tmp");
  facts.temporary = space_of(temporary).value_or(Space{temporary, 0, 0, false});
  facts.clock_is_synchronised = clock_is_synchronised();
  const auto own = hosts::local_addresses();
  facts.network.own_name_leads_astray =
      own && !hosts::resolves_to_one_of(hosts::host_name(), *own, own_name_limit);
  read_gpus(sysfs, environment, facts);
}

}  // namespace

std::vector<Gpu> parse_gpus(std::string_view text) {
  std::vector<Gpu> gpus;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ',');
    if (fields.size() != 3) continue;
    gpus.push_back(
        {std::string(trim(fields[0])), trim(fields[1]) == "Enabled", parse_int(trim(fields[2]))});
  }
  return gpus;
}

Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment) {
  Facts facts;
  facts.network = fabric::read_node(sysfs, environment);
  facts.gpu_functions = static_cast<int>(fabric::read_gpus(sysfs).size());
  for (const std::string& name : sysfs.names("dev/infiniband")) {
    facts.has_verbs_devices = facts.has_verbs_devices || name.starts_with("uverbs");
  }
  facts.has_peer_memory = sysfs.exists("sys/module/nvidia_peermem") ||
                          sysfs.exists("sys/kernel/mm/memory_peers/nv_mem/version");
  facts.free_ports = free_ports(sysfs);
  facts.listen_backlog = sysfs.number("proc/sys/net/core/somaxconn");
  read_memory(sysfs, facts);
  if (is_this_machine) read_own_machine(sysfs, environment, facts);
  return facts;
}

}  // namespace toprun::doctor
