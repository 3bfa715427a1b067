#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "machine/fabric/devices.h"
#include "machine/fabric/pci.h"
#include "machine/fabric/sysfs.h"

namespace toprun::doctor {

// A PCIe link that uses fewer lanes than both of its ends support.
struct NarrowLink {
  std::string name;  // the adapter's name, or "GPU 0000:1a:00.0"
  int lanes = 0;
  int possible_lanes = 0;
};
// Only lanes are compared, because an idle device lowers its link's speed on purpose.
std::vector<NarrowLink> narrow_links(const fabric::Sysfs& sysfs,
                                     std::span<const fabric::Device> devices,
                                     std::span<const fabric::PciPlace> gpus);

// The addresses of PCI bridges above these functions that redirect traffic between devices through
// the CPU: Access Control Services with P2P Request Redirect (PCI Express Base Specification, "ACS
// Extended Capability"). Only root can read the registers; for other users the list is empty.
std::vector<std::string> redirecting_bridges(const fabric::Sysfs& sysfs,
                                             std::span<const fabric::PciPlace> functions);
// Whether "P2P Request Redirect" is on in the configuration space of a bridge.
bool redirects_requests(std::string_view config);

// Sets of interfaces with addresses in the same IPv4 subnet (/proc/net/route). Empty if the kernel
// does not answer ARP requests for one interface's address on another interface (arp_ignore above
// 0).
std::vector<std::vector<std::string>> shared_subnets(const fabric::Sysfs& sysfs);

// Whether libibverbs, which NCCL loads for RDMA, is in the usual folders or in LD_LIBRARY_PATH.
bool has_verbs_library(const fabric::Sysfs& sysfs, const Environment& environment);

// NVIDIA's codes for GPU faults since the machine's boot, from the kernel's log: "Xid 79 of
// 0000:1a:00". Codes for a program's own errors are left out. Empty for users without permission to
// read the log.
std::set<std::string> logged_gpu_faults();
// The fault in a record of the log ("6,12,345,-;NVRM: Xid (PCI:0000:1a:00): 79, …"); empty if there
// is no fault.
std::string gpu_fault_in(std::string_view record);

}  // namespace toprun::doctor
