#include "machine/fabric/pci.h"

#include <algorithm>
#include <array>

namespace toprun::fabric {
namespace {

constexpr std::array<std::string_view, 5> distance_names = {"PIX", "PXB", "PHB", "NODE", "SYS"};
// The class (base class and subclass) from the PCI Code and ID Assignment Specification, with the
// vendor whose GPUs have it. Other display controllers are for consoles.
struct GpuClass {
  std::string_view pci_class, vendor;
};
constexpr std::array<GpuClass, 4> gpu_classes = {
    {{"0x0302", "0x10de"}, {"0x0300", "0x10de"}, {"0x1200", "0x1002"}, {"0x0380", "0x1002"}}};
// The device's function, and the switch port above it.
constexpr std::size_t below_one_switch = 2;

bool is_gpu(const Sysfs& sysfs, const std::string& address) {
  const std::string folder = "sys/bus/pci/devices/" + address;
  const std::string pci_class = sysfs.text(folder + "/class").value_or("");
  const auto known = std::ranges::find_if(
      gpu_classes, [&](const GpuClass& gpu) { return pci_class.starts_with(gpu.pci_class); });
  return known != gpu_classes.end() && sysfs.text(folder + "/vendor") == known->vendor;
}

}  // namespace

std::string_view name_of(PciDistance distance) {
  return distance_names[static_cast<std::size_t>(distance)];
}

std::optional<PciPlace> place_of(const Sysfs& sysfs, const std::string& address) {
  PciPlace place;
  place.address = address;
  for (std::string& part : sysfs.link("sys/bus/pci/devices/" + address)) {
    if (part.starts_with("pci") || !place.path.empty()) place.path.push_back(std::move(part));
  }
  if (place.path.size() < 2) return std::nullopt;
  const auto numa = sysfs.number("sys/bus/pci/devices/" + address + "/numa_node");
  if (numa && *numa >= 0) place.numa = static_cast<int>(*numa);
  return place;
}

std::vector<PciPlace> read_gpus(const Sysfs& sysfs) {
  std::vector<PciPlace> gpus;
  for (const std::string& address : sysfs.names("sys/bus/pci/devices")) {
    if (!is_gpu(sysfs, address)) continue;
    if (auto place = place_of(sysfs, address)) gpus.push_back(*std::move(place));
  }
  std::ranges::sort(gpus, {}, &PciPlace::address);
  return gpus;
}

PciDistance distance(const PciPlace& a, const PciPlace& b) {
  const auto [end_a, end_b] = std::ranges::mismatch(a.path, b.path);
  const auto common = static_cast<std::size_t>(end_a - a.path.begin());
  if (common == 0) return a.numa && a.numa == b.numa ? PciDistance::node : PciDistance::sys;
  if (common == 1) return PciDistance::phb;
  const std::size_t longest = std::max(a.path.size(), b.path.size()) - common;
  return longest <= below_one_switch ? PciDistance::pix : PciDistance::pxb;
}

}  // namespace toprun::fabric
