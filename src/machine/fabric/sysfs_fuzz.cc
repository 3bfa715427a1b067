// Any contents of a kernel's files, or of a copy of them; and any table of GIDs.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"
#include "machine/fabric/settings.h"

namespace {

using namespace toprun::fabric;

constexpr std::size_t bytes_of_an_entry = 18;
constexpr std::array<const char*, 4> interfaces = {"", "eth0", "eth0.7", "gone"};

std::vector<Interface> some_interfaces() {
  Interface own, vlan;
  own.name = "eth0";
  own.kind = InterfaceKind::physical;
  own.is_up = own.has_default_route = true;
  vlan.name = "eth0.7";
  vlan.kind = InterfaceKind::vlan;
  vlan.below = {"eth0"};
  return {own, vlan};
}

// Each entry is 16 bytes of address, its type and its interface; every eighth begins a new device.
std::vector<Device> devices_in(std::string_view bytes) {
  std::vector<Device> devices;
  for (std::size_t at = 0; at + bytes_of_an_entry <= bytes.size(); at += bytes_of_an_entry) {
    const std::string_view entry = bytes.substr(at, bytes_of_an_entry);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(entry[i]); };
    if (at % (8 * bytes_of_an_entry) == 0) {
      Device device;
      device.name = "mlx5_" + std::to_string(devices.size());
      device.interfaces = {"eth0"};
      device.ports.resize(1);
      device.ports[0].link_layer = static_cast<LinkLayer>(byte(16) / 3 % 3);
      device.ports[0].state = static_cast<PortState>(byte(16) / 9 % 6);
      device.ports[0].rate_gbps = 50.0 * (byte(17) / 4);
      devices.push_back(std::move(device));
    }
    Gid gid{static_cast<int>(at / bytes_of_an_entry % 8),
            {},
            static_cast<GidType>(byte(16) % 3),
            interfaces[byte(17) % interfaces.size()]};
    for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = byte(i);
    if (!is_zero(gid.bytes)) devices.back().ports[0].gids.push_back(std::move(gid));
  }
  return devices;
}

// A chosen RoCE port has an entry of its own table, which is the only one without a reason against.
void check_choice(const NodeFabric& node) {
  for (const PortVerdict& verdict : node.choice.ports) {
    const Port& port = node.devices[verdict.device].ports[verdict.port];
    if (!verdict.is_chosen() || port.link_layer != LinkLayer::ethernet) continue;
    for (std::size_t i = 0; i < port.gids.size(); ++i) {
      const bool is_right = port.gids[i].index == verdict.gid.index;
      if (is_right != verdict.gid.why_not[i].empty()) std::abort();
    }
    if (!verdict.gid.index) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto gid = parse_gid(text)) (void)address_of(*gid);
  (void)parse_rate(text);
  (void)default_interface_v4(text);
  (void)default_interface_v6(text);
  NodeFabric conf;
  add_nccl_conf(conf, text, "nccl.conf");
  (void)parse_nccl_version(text);
  NodeFabric node;
  node.devices = devices_in(text);
  node.interfaces = some_interfaces();
  node.choice = choose_ports(node.devices, node.interfaces);
  check_choice(node);
  for (const NcclVersion version : {NcclVersion{2, 20, 5}, NcclVersion{2, 22, 3}, {2, 27, 3}}) {
    node.nccl = version;
    (void)decide(node);
  }
  (void)contradictions(node);
  (void)summary_of(node);
  (void)why_no_rdma(node);
  return 0;
}
