#include "node/preflight.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "node/installed.h"
#include "plan/accelerate.h"
#include "rendezvous/preamble.h"

namespace toprun::node {
namespace {

namespace fs = std::filesystem;
using rendezvous::Evidence;
using rendezvous::Join;
using std::chrono::milliseconds;

// A container's default (docker run --shm-size).
constexpr std::int64_t tiny_shm_bytes = 64 << 20;
// One network delay and a busy root are far below it.
constexpr milliseconds clock_tolerance{2'000};
// What a Python with torch has open anyway; then one connection per peer in a full mesh, or in the
// agent the pipes and log files of a worker.
constexpr std::int64_t own_files = 256;
constexpr std::int64_t files_per_worker = 8;
// A worker's threads count as processes: torch, the data loader, NCCL or Gloo.
constexpr std::int64_t processes_per_worker = 64;
constexpr std::int64_t tiny_locked_bytes = 1 << 30;
constexpr std::int64_t few_free_ports = 1'000;
constexpr std::size_t most_named_hosts = 32;

bool is_privileged(int capability) {
  return ::geteuid() == 0 && ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
}

std::optional<std::int64_t> soft_limit(const agent::Inherited& inherited, int resource) {
  const rlim_t limit = inherited.limits[static_cast<std::size_t>(resource)].rlim_cur;
  if (limit == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit, INT64_MAX));
}

bool has_rdma_devices() {
  std::error_code error;
  fs::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != fs::directory_iterator();
}

std::optional<std::int64_t> shm_free_bytes() {
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) != 0) return std::nullopt;
  return static_cast<std::int64_t>(shm.f_bavail * shm.f_frsize);
}

// The range less the sockets in use (proc(5), net/sockstat): a lower bound, for one port serves
// connections to several places.
std::optional<std::int64_t> free_ports() {
  const auto range = read_file("/proc/sys/net/ipv4/ip_local_port_range");
  const auto sockets = read_file("/proc/net/sockstat");
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

// The file that Python or the kernel will read: a folder's __main__.py; nothing for a module and
// for a program that PATH finds, which is the system's.
fs::path script_of(const plan::Options& options) {
  if (options.program == plan::Program::module) return {};
  if (options.program == plan::Program::executable &&
      options.script.find('/') == std::string::npos) {
    return {};
  }
  std::error_code error;
  const fs::path script = options.script;
  return fs::is_directory(script, error) ? script / "__main__.py" : script;
}

// A script that `accelerate launch` would have told more than toprun does.
std::optional<std::string> idle_accelerate_config(std::string_view script,
                                                  const Environment& environment) {
  if (!plan::imports_accelerate(script) || plan::has_accelerate_settings(environment))
    return std::nullopt;
  const fs::path file = plan::accelerate_default_config(environment);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  return file.string();
}

void read_script(const fs::path& script, const Environment& environment, Evidence& evidence) {
  struct stat status {};
  if (script.empty() || ::stat(script.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::access(script.c_str(), R_OK) != 0) {
    evidence.script_error = errno_text(errno);
    return;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > longest_hashed_script_bytes) {
    evidence.script = fmt::format("{} bytes", size);
  } else if (const auto text = read_file(script, longest_hashed_script_bytes)) {
    evidence.script = rendezvous::content_hash(*text);
    evidence.idle_accelerate_config = idle_accelerate_config(*text, environment);
  } else {
    evidence.script_error = text.error().why;
  }
}

// Hosts in natural order, each once, as a list that fits on a line.
std::string named(std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  const std::size_t shown = std::min(names.size(), most_named_hosts);
  const std::size_t more = names.size() - shown;
  std::partial_sort(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), names.end(),
                    natural_less);
  names.resize(shown);
  const std::string list = hosts::compress_hostlist(names);
  return more == 0 ? list : fmt::format("{} and {} more", list, more);
}

// One agent's evidence, with what the limits of its node have to suffice for.
struct Witness {
  std::string host;
  const Evidence* saw;
  std::int64_t ranks;  // of the whole node
};

using Witnesses = std::vector<Witness>;

// "n[1-2]" for those for whom it holds, empty if for none.
template <class Holds>
std::string hosts_where(const Witnesses& witnesses, Holds holds) {
  std::vector<std::string> hosts;
  for (const Witness& witness : witnesses) {
    if (holds(witness)) hosts.push_back(witness.host);
  }
  return hosts.empty() ? "" : named(std::move(hosts));
}

// "3.11 on n[0-2], 3.12 on n3", most hosts first; empty if all that know agree. Values that mean
// nothing to people are "one" and "another".
template <class Field>
std::string disagreement(const Witnesses& witnesses, Field field, bool readable) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const Witness& witness : witnesses) {
    const std::string value = std::invoke(field, *witness.saw);
    if (!value.empty()) by_value[value].push_back(witness.host);
  }
  if (by_value.size() < 2) return {};
  std::vector<std::pair<std::string, std::vector<std::string>>> groups(by_value.begin(),
                                                                       by_value.end());
  std::ranges::stable_sort(groups, std::greater{},
                           [](const auto& group) { return group.second.size(); });
  std::string text;
  for (const auto& [value, hosts] : groups) {
    if (!text.empty()) text += ", ";
    const std::string what = readable ? value : text.empty() ? "one" : "another";
    text += fmt::format("{} on {}", what, named(hosts));
  }
  return text;
}

void add_script(const Witnesses& witnesses, std::vector<std::string>& lines) {
  const auto unreadable =
      hosts_where(witnesses, [](const Witness& w) { return !w.saw->script_error.empty(); });
  if (!unreadable.empty()) {
    const auto one = std::ranges::find_if(
        witnesses, [](const Witness& w) { return !w.saw->script_error.empty(); });
    lines.push_back(fmt::format("the script cannot be read on {}: {}; make it readable there",
                                unreadable, one->saw->script_error));
  }
  const auto different = disagreement(witnesses, &Evidence::script, false);
  if (!different.empty()) {
    lines.push_back(fmt::format(
        "the script differs between nodes: {}; copy the same one to all of them", different));
  }
}

void add_accelerate(const Witnesses& witnesses, std::vector<std::string>& lines) {
  const auto has_one = [](const Witness& w) { return w.saw->idle_accelerate_config.has_value(); };
  const auto idle = hosts_where(witnesses, has_one);
  if (idle.empty()) return;
  const auto one = std::ranges::find_if(witnesses, has_one);
  const std::string& file = *one->saw->idle_accelerate_config;
  lines.push_back(
      fmt::format("the script imports accelerate, and nothing applies its settings in {} on {}; "
                  "toprun --accelerate-config {} does, as accelerate's own launcher would",
                  file, idle, file));
}

void add_versions(const Witnesses& witnesses, std::vector<std::string>& lines) {
  const auto python = disagreement(witnesses, &Evidence::python, true);
  if (!python.empty()) {
    lines.push_back(
        fmt::format("nodes have different Pythons: {}; give all the same environment", python));
  }
  const auto torch = disagreement(witnesses, &Evidence::torch, true);
  if (!torch.empty()) {
    lines.push_back(fmt::format(
        "nodes have different versions of torch: {}; install the same one on all", torch));
  }
}

void add_networks(const Witnesses& witnesses, std::vector<std::string>& lines) {
  const auto network = [](const Evidence& saw) { return saw.network.value_or(""); };
  if (const auto text = disagreement(witnesses, network, true); !text.empty()) {
    lines.push_back(fmt::format(
        "nodes differ in RDMA: {}; the slowest sets the pace of all (toprun net show there)",
        text));
  }
  const auto nccl = [](const Evidence& saw) { return saw.nccl.value_or(""); };
  if (const auto text = disagreement(witnesses, nccl, true); !text.empty()) {
    lines.push_back(fmt::format(
        "nodes have different versions of NCCL: {}; install the same one on all", text));
  }
}

void add_clocks(const Witnesses& witnesses, std::vector<std::string>& lines) {
  const auto off = [](const Witness& w) { return std::chrono::abs(w.saw->clock_behind); };
  const auto wrong =
      hosts_where(witnesses, [&](const Witness& w) { return off(w) > clock_tolerance; });
  if (wrong.empty()) return;
  const milliseconds most = off(*std::ranges::max_element(witnesses, {}, off));
  lines.push_back(fmt::format(
      "the clock of {} is off by {}{} against the root's; set it by NTP, or times in logs and "
      "files will mislead",
      wrong, wrong.find_first_of("[,") == wrong.npos ? "" : "up to ", duration_text(most)));
}

bool has_little_shm(const Witness& w, std::int64_t) {
  return w.ranks > 1 && w.saw->shm_free_bytes && *w.saw->shm_free_bytes <= tiny_shm_bytes;
}

bool has_few_files(const Witness& w, std::int64_t world) {
  const std::int64_t needed = own_files + std::max(files_per_worker * w.ranks, world);
  return w.saw->open_files && *w.saw->open_files < needed;
}

bool has_few_processes(const Witness& w, std::int64_t) {
  return w.saw->processes && *w.saw->processes < processes_per_worker * w.ranks;
}

bool locks_little(const Witness& w, std::int64_t) {
  return w.saw->locked_bytes && *w.saw->locked_bytes < tiny_locked_bytes;
}

bool has_few_ports(const Witness& w, std::int64_t) {
  return w.saw->free_ports && *w.saw->free_ports < few_free_ports;
}

// What a node may have too little of, in the order in which it is said.
struct Limit {
  bool (*is_low)(const Witness& witness, std::int64_t world_size);
  const char* text;  // {0}: the hosts, {1}: the world size
};
constexpr Limit limits[] = {
    {has_little_shm,
     "/dev/shm has 64 MiB or less left on {0}: data loaders and NCCL need more; --shm-size 8g for "
     "a container, an emptyDir of medium Memory in Kubernetes"},
    {has_few_files,
     "the limit on open files is low on {0}: a connection to each of {1} ranks may need more; "
     "ulimit -n 65536 before toprun"},
    {has_few_processes,
     "the limit on processes and threads is low on {0}; raise ulimit -u before toprun"},
    {locks_little,
     "the limit on locked memory is low on {0}, and RDMA needs it; ulimit -l unlimited before "
     "toprun (--ulimit memlock=-1 for a container)"},
    {has_few_ports,
     "few ports are left for connections on {0}; widen net.ipv4.ip_local_port_range, or end what "
     "holds them"},
};

void add_limits(const Witnesses& witnesses, std::int64_t world, std::vector<std::string>& lines) {
  for (const Limit& limit : limits) {
    const std::string hosts =
        hosts_where(witnesses, [&](const Witness& w) { return limit.is_low(w, world); });
    if (!hosts.empty()) lines.push_back(fmt::format(fmt::runtime(limit.text), hosts, world));
  }
}

}  // namespace

Evidence examine(const plan::Job& job) {
  Evidence evidence;
  read_script(script_of(job.options), job.environment, evidence);
  if (job.options.program != plan::Program::executable && !job.in_container()) {
    Installed installed = look_at_python(job.program.front(), job.environment);
    evidence.python = std::move(installed.python);
    evidence.torch = std::move(installed.torch);
    if (!installed.nccl.empty()) evidence.nccl = std::move(installed.nccl);
  }
  evidence.shm_free_bytes = shm_free_bytes();
  evidence.open_files = soft_limit(job.inherited, RLIMIT_NOFILE);
  if (!is_privileged(CAP_SYS_RESOURCE)) {
    evidence.processes = soft_limit(job.inherited, RLIMIT_NPROC);
  }
  if (has_rdma_devices() && !is_privileged(CAP_IPC_LOCK)) {
    evidence.locked_bytes = soft_limit(job.inherited, RLIMIT_MEMLOCK);
  }
  evidence.free_ports = free_ports();
  return evidence;
}

std::vector<std::string> preflight_warnings(const std::vector<Join>& members) {
  std::map<std::string, std::int64_t> ranks;  // by host: ranks in place join one by one
  std::int64_t world = 0;
  for (const Join& join : members) {
    ranks[join.host] += join.slots;
    world += join.slots;
  }
  Witnesses witnesses;
  for (const Join& join : members) {
    if (join.evidence) witnesses.push_back({join.host, &*join.evidence, ranks[join.host]});
  }
  std::vector<std::string> lines;
  if (witnesses.empty()) return lines;
  add_script(witnesses, lines);
  add_accelerate(witnesses, lines);
  add_versions(witnesses, lines);
  add_networks(witnesses, lines);
  add_clocks(witnesses, lines);
  add_limits(witnesses, world, lines);
  for (std::string& line : lines) line = "warning: " + line;
  if (lines.size() > most_preflight_warnings) lines.resize(most_preflight_warnings);
  return lines;
}

}  // namespace toprun::node
