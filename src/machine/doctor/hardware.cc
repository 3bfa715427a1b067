#include "machine/doctor/hardware.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/os/fd.h"
#include "base/text/text.h"

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

}  // namespace toprun::doctor
