#include "machine/doctor/facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>

#include "base/net/address.h"
#include "base/net/resolve.h"
#include "base/os/fd.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "machine/fabric/pci.h"

namespace toprun::doctor {
namespace {

constexpr int max_log_records = 100'000;
// Errors of programs: NVIDIA's "Xid Errors" calls them application errors.
constexpr std::array<int, 6> faults_of_programs = {13, 31, 43, 45, 68, 109};
constexpr std::array<std::string_view, 8> library_folders = {"usr/lib/x86_64-linux-gnu",
                                                             "usr/lib/aarch64-linux-gnu",
                                                             "usr/lib64",
                                                             "usr/lib",
                                                             "lib64",
                                                             "lib",
                                                             "lib/x86_64-linux-gnu",
                                                             "usr/local/lib"};
constexpr std::string_view verbs_library_file = "libibverbs.so.1";

void add_if_narrow(const fabric::Sysfs& sysfs, const std::string& name, const std::string& address,
                   std::vector<NarrowLink>& links) {
  const std::string folder = "sys/bus/pci/devices/" + address;
  const auto lanes = sysfs.number(folder + "/current_link_width");
  auto possible = sysfs.number(folder + "/max_link_width");
  // The slot may have fewer lanes than the device: the link's other end is the parent folder.
  const auto place = fabric::place_of(sysfs, address);
  if (place && place->path.size() > 1) {
    const std::string& above = place->path[place->path.size() - 2];
    const auto slot = sysfs.number("sys/bus/pci/devices/" + above + "/max_link_width");
    if (slot && possible) possible = std::min(*slot, *possible);
  }
  constexpr std::int64_t most_lanes = 32;
  if (!lanes || !possible || *lanes <= 0 || *lanes >= *possible || *possible > most_lanes) return;
  links.push_back({name, static_cast<int>(*lanes), static_cast<int>(*possible)});
}

std::size_t word_at(std::string_view bytes, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  return byte(offset) | static_cast<std::size_t>(byte(offset + 1)) << 8u;
}

bool answers_for_others(const fabric::Sysfs& sysfs, const std::string& interface) {
  const std::string folder = "proc/sys/net/ipv4/conf/";
  const auto all = sysfs.number(folder + "all/arp_ignore");
  const auto own = sysfs.number(folder + interface + "/arp_ignore");
  return all && own && std::max(*all, *own) == 0;  // the kernel takes the larger one
}

constexpr std::chrono::milliseconds own_name_limit{2'000};
constexpr std::chrono::seconds gpu_limit{5};

Space space_of(const std::string& path) {
  struct stat folder {};
  struct statvfs status {};
  if (::stat(path.c_str(), &folder) != 0 || ::statvfs(path.c_str(), &status) != 0 ||
      ::access(path.c_str(), W_OK | X_OK) != 0) {
    return {path, 0, 0, errno_text(errno)};
  }
  return {path, status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize,
          S_ISDIR(folder.st_mode) ? "" : errno_text(ENOTDIR)};
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
  const Limits limits = own_limits();
  facts.resources = read_resources(sysfs, limits);
  facts.highest_limits = highest_limits(limits);
  facts.most_open_files =
      static_cast<std::int64_t>(std::min<rlim_t>(limits[RLIMIT_NOFILE].rlim_max, INT64_MAX));
  const auto chosen = environment.non_empty("TMPDIR");
  facts.is_tmpdir_set = chosen.has_value();
  facts.temporary = space_of(chosen.value_or("/tmp"));
  facts.clock_is_synchronised = clock_is_synchronised();
  look_up_own_name(facts);
  facts.processors = usable_processors();
  read_gpus(sysfs, environment, facts);
}

}  // namespace

std::vector<NarrowLink> narrow_links(const fabric::Sysfs& sysfs,
                                     std::span<const fabric::Device> devices,
                                     std::span<const fabric::PciPlace> gpus) {
  std::vector<NarrowLink> links;
  for (const fabric::Device& device : devices) {
    if (!device.pci.empty()) add_if_narrow(sysfs, device.name, device.pci, links);
  }
  for (const fabric::PciPlace& gpu : gpus) {
    add_if_narrow(sysfs, "GPU " + gpu.address, gpu.address, links);
  }
  return links;
}

bool redirects_requests(std::string_view config) {
  constexpr std::size_t first_capability = 0x100;
  constexpr std::size_t control = 6;
  constexpr std::size_t acs = 0x0d;
  constexpr std::size_t redirect = 0x04;
  constexpr int most_capabilities = 64;
  std::size_t at = first_capability;
  for (int i = 0; i < most_capabilities && at >= first_capability; ++i) {
    if (at + control + 2 > config.size()) return false;
    if (word_at(config, at) == acs) return (word_at(config, at + control) & redirect) != 0;
    at = word_at(config, at + 2) >> 4u;
  }
  return false;
}

std::vector<std::string> redirecting_bridges(const fabric::Sysfs& sysfs,
                                             std::span<const fabric::PciPlace> functions) {
  std::set<std::string> bridges;
  for (const fabric::PciPlace& function : functions) {
    for (std::size_t i = 0; i + 1 < function.path.size(); ++i) bridges.insert(function.path[i]);
  }
  std::vector<std::string> redirecting;
  for (const std::string& bridge : bridges) {
    const auto config = sysfs.text("sys/bus/pci/devices/" + bridge + "/config");
    if (config && redirects_requests(*config)) redirecting.push_back(bridge);
  }
  return redirecting;
}

// Columns of /proc/net/route: Iface Destination Gateway Flags RefCnt Use Metric Mask …
std::vector<std::vector<std::string>> shared_subnets(const fabric::Sysfs& sysfs) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> by_subnet;
  const std::string table = sysfs.text("proc/net/route").value_or("");
  for (const std::string_view line : split(table, '\n')) {
    constexpr std::string_view none = "00000000";
    const auto fields = words(line);
    if (fields.size() < 8 || fields[2] != none || fields[7] == none || fields[0] == "Iface")
      continue;
    by_subnet[{std::string(fields[1]), std::string(fields[7])}].insert(std::string(fields[0]));
  }
  std::vector<std::vector<std::string>> shared;
  for (const auto& [subnet, names] : by_subnet) {
    if (names.size() < 2) continue;
    const bool any = std::ranges::any_of(
        names, [&](const std::string& name) { return answers_for_others(sysfs, name); });
    if (any) shared.emplace_back(names.begin(), names.end());
  }
  return shared;
}

bool has_verbs_library(const fabric::Sysfs& sysfs, const Environment& environment) {
  std::vector<std::string> folders(library_folders.begin(), library_folders.end());
  const std::string more = environment.get("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(more, ':')) {
    if (folder.starts_with('/')) folders.emplace_back(folder.substr(1));
  }
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    return sysfs.exists(folder + "/" + std::string(verbs_library_file));
  });
}

std::string gpu_fault_in(std::string_view record) {
  constexpr std::string_view mark = "NVRM: Xid (PCI:";
  const std::size_t at = record.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = record.substr(at + mark.size());
  const std::size_t close = rest.find("): ");
  if (close == std::string_view::npos) return {};
  const std::string_view tail = rest.substr(close + 3);
  const auto number = parse_int(tail.substr(0, tail.find(',')));
  if (!number || std::ranges::find(faults_of_programs, *number) != faults_of_programs.end()) {
    return {};
  }
  return fmt::format("Xid {} of {}", *number, printable(rest.substr(0, close)));
}

std::set<std::string> logged_gpu_faults() {
  std::set<std::string> faults;
  const Fd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 8'192> record;
  for (int i = 0; log && i < max_log_records; ++i) {
    const ssize_t n = ::read(log.get(), record.data(), record.size());
    if (n < 0 && (errno == EPIPE || errno == EINTR)) continue;  // EPIPE: it was overwritten
    if (n <= 0) break;
    std::string fault = gpu_fault_in({record.data(), static_cast<std::size_t>(n)});
    if (!fault.empty()) faults.insert(std::move(fault));
  }
  return faults;
}

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
  facts.is_copy = !is_this_machine;
  facts.has_sys = sysfs.exists("sys/class/net");
  facts.has_routes = sysfs.exists("proc/net/route");
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
