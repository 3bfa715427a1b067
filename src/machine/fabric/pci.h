#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// The distance between two PCI functions, in the terms of `nvidia-smi topo -m`.
enum class PciDistance : std::uint8_t {
  pix,   // at most one switch between them
  pxb,   // several switches, no host bridge
  phb,   // a host bridge
  node,  // host bridges on the same NUMA node
  sys,   // the link between NUMA nodes
};
std::string_view name_of(PciDistance distance);  // "PIX"

// The position of a PCI function below the host bridges: "pci0000:16", "0000:16:01.0", …, and last
// the function itself.
struct PciPlace {
  std::string address;  // "0000:17:00.0"
  std::vector<std::string> path;
  std::optional<int> numa;
};
// Finds the PCI function with this address. nullopt: there is no such function, or its position is
// not visible, as in most virtual machines.
std::optional<PciPlace> place_of(const Sysfs& sysfs, const std::string& address);

// Finds NVIDIA's and AMD's GPUs by their PCI class and vendor, in order of their addresses.
std::vector<PciPlace> read_gpus(const Sysfs& sysfs);

PciDistance distance(const PciPlace& a, const PciPlace& b);

}  // namespace toprun::fabric
