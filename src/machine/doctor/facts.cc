#include "machine/doctor/facts.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/net/address.h"
#include "base/net/resolve.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "machine/fabric/pci.h"
#include "machine/fabric/profile_script.h"

namespace toprun::doctor {
namespace {

constexpr std::chrono::milliseconds own_name_limit{2'000};
constexpr std::chrono::seconds gpu_limit{5};

std::optional<Space> space_of(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
  return Space{path, status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize,
               ::access(path.c_str(), W_OK | X_OK) == 0};
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

// What nvidia-smi tells of all GPUs, on older drivers without the state of the NVLink fabric.
Result<std::string> query_gpus(const Environment& environment) {
  const std::string fields = "index,persistence_mode,ecc.errors.uncorrected.volatile.total";
  const auto deadline = std::chrono::steady_clock::now() + gpu_limit;
  const auto ask = [&](const std::string& query) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    return process::output_of({"nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader"},
                              environment, std::max(left, std::chrono::milliseconds(1)));
  };
  auto text = ask(fields + ",fabric.state,fabric.status");
  const bool has_time = deadline - std::chrono::steady_clock::now() > gpu_limit / 2;
  return text || !has_time ? text : ask(fields);
}

void read_gpus(const fabric::Sysfs& sysfs, const Environment& environment, Facts& facts) {
  if (!sysfs.exists("dev/nvidiactl")) return;
  const auto text = query_gpus(environment);
  if (!text) {
    facts.gpu_trouble = text.error().line();
  } else {
    facts.gpus = parse_gpus(*text);
  }
  facts.gpu_faults = logged_gpu_faults();
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …" (or "… Open Kernel Module for
// x86_64  550.54.15 …"): the first word that begins like a version.
std::string nvidia_driver(const fabric::Sysfs& sysfs) {
  const auto text = sysfs.text("proc/driver/nvidia/version");
  if (!text) return {};
  for (const std::string_view word : words(*text)) {
    const std::size_t dot = word.find('.');
    if (dot != std::string_view::npos && parse_int(word.substr(0, dot))) return std::string(word);
  }
  return {};
}

void read_hardware(const fabric::Sysfs& sysfs, const Environment& environment, Facts& facts) {
  std::vector<fabric::PciPlace> functions = fabric::read_gpus(sysfs);
  facts.gpu_functions = static_cast<int>(functions.size());
  facts.narrow_links = narrow_links(sysfs, facts.network.devices, functions);
  for (const fabric::Device& device : facts.network.devices) {
    if (auto place = fabric::place_of(sysfs, device.pci)) functions.push_back(*std::move(place));
  }
  facts.redirecting_bridges = redirecting_bridges(sysfs, functions);
  facts.shared_subnets = shared_subnets(sysfs);
  facts.has_verbs_library = has_verbs_library(sysfs, environment);
}

std::vector<std::string> firmware(const fabric::Sysfs& sysfs) {
  std::set<std::string> versions;
  for (const std::string& device : sysfs.names("sys/class/infiniband")) {
    if (auto version = sysfs.text("sys/class/infiniband/" + device + "/fw_ver")) {
      versions.insert(*std::move(version));
    }
  }
  return {versions.begin(), versions.end()};
}

std::optional<TrackedConnections> tracked_connections(const fabric::Sysfs& sysfs) {
  const auto count = sysfs.number("proc/sys/net/netfilter/nf_conntrack_count");
  const auto limit = sysfs.number("proc/sys/net/netfilter/nf_conntrack_max");
  if (!count || !limit || *limit <= 0) return std::nullopt;
  return TrackedConnections{*count, *limit};
}

int usable_processors() {
  cpu_set_t processors;
  return ::sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 0;
}

void look_up_own_name(Facts& facts) {
  const auto own = hosts::local_addresses();
  const std::string own_name = hosts::host_name();
  facts.network.own_name_leads_astray =
      own && !hosts::resolves_to_one_of(own_name, *own, own_name_limit);
  if (!facts.network.own_name_leads_astray) return;
  const auto addresses = hosts::resolve(own_name, own_name_limit);
  if (!addresses) return;
  std::vector<std::string> texts;
  for (const hosts::Address& address : *addresses) texts.push_back(address.text());
  facts.own_name_leads_to = join(texts, ", ");
}

void read_own_machine(const fabric::Sysfs& sysfs, const Environment& environment, Facts& facts) {
  facts.resources = read_resources(sysfs, own_limits());
  const std::string temporary = environment.non_empty("TMPDIR").value_or("/tmp");
  facts.temporary = space_of(temporary).value_or(Space{temporary, 0, 0, false});
  facts.clock_is_synchronised = clock_is_synchronised();
  look_up_own_name(facts);
  facts.processors = usable_processors();
  read_gpus(sysfs, environment, facts);
}

}  // namespace

std::vector<Gpu> parse_gpus(std::string_view text) {
  // Without a fabric, nvidia-smi writes "[N/A]", "N/A" or "[Not Supported]".
  const auto known = [](std::string_view field) {
    const std::string_view value = trim(field);
    const bool is_known = !value.starts_with('[') && value != "N/A" && value != "Not Supported";
    return is_known ? std::string(value) : std::string();
  };
  std::vector<Gpu> gpus;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ',');
    if (fields.size() != 3 && fields.size() != 5) continue;
    Gpu gpu{std::string(trim(fields[0])), trim(fields[1]) != "Disabled",
            parse_int(trim(fields[2]))};
    gpu.needs_reset = line.find("[GPU requires reset]") != std::string_view::npos;
    if (fields.size() == 5) {
      gpu.fabric_state = known(fields[3]);
      gpu.fabric_status = known(fields[4]);
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment) {
  Facts facts;
  facts.network = fabric::read_node(sysfs, environment);
  read_hardware(sysfs, environment, facts);
  for (const std::string& name : sysfs.names("dev/infiniband")) {
    facts.has_verbs_devices = facts.has_verbs_devices || name.starts_with("uverbs");
  }
  facts.has_peer_memory = sysfs.exists("sys/module/nvidia_peermem") ||
                          sysfs.exists("sys/kernel/mm/memory_peers/nv_mem/version");
  facts.resources.free_ports = free_ports(sysfs);
  facts.listen_backlog = sysfs.number("proc/sys/net/core/somaxconn");
  facts.tracked_connections = tracked_connections(sysfs);
  facts.nvidia_driver = nvidia_driver(sysfs);
  facts.kernel = sysfs.text("proc/sys/kernel/osrelease").value_or("");
  facts.firmware = firmware(sysfs);
  read_memory(sysfs, facts);
  if (is_this_machine) read_own_machine(sysfs, environment, facts);
  return facts;
}

std::vector<Peer> look_up(const std::vector<std::string>& names, const std::string& own) {
  std::vector<Peer> peers;
  const auto deadline = std::chrono::steady_clock::now() + peers_limit;
  const std::size_t count = std::min(names.size(), max_peers);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = names[i * names.size() / count];
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (hosts::same_host(name, own) || left.count() <= 0) continue;
    Peer peer{name, {}};
    if (const auto found = hosts::resolve(name, left)) {
      for (const hosts::Address& address : *found) peer.addresses.push_back(address.text());
    }
    std::ranges::sort(peer.addresses);
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace toprun::doctor
