#include "machine/fabric/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace toprun::fabric {
namespace {

constexpr std::string_view amazon = "0x1d0f";
// A port below this share of the fastest port's rate has another purpose. A degraded link keeps
// half of its lanes or speed.
constexpr double least_share = 0.5;

// The interface that has an entry's address, and its relation to the device.
struct Carrier {
  const Interface* interface = nullptr;
  bool is_vlan = false;
  bool is_foreign = false;  // neither the device's own interface nor built on one
};

bool stands_on(const Interface& interface, const Device& device,
               std::span<const Interface> interfaces) {
  const auto is_own = [&](const std::string& name) {
    return std::ranges::find(device.interfaces, name) != device.interfaces.end();
  };
  if (is_own(interface.name)) return true;
  return std::ranges::any_of(interface.below, [&](const std::string& name) {
    if (is_own(name)) return true;
    const Interface* lower = find(interfaces, name);  // a VLAN on a bond
    return lower && std::ranges::any_of(lower->below, is_own);
  });
}

Carrier carrier_of(const Gid& gid, const Device& device, std::span<const Interface> interfaces) {
  Carrier carrier;
  carrier.interface = find(interfaces, gid.interface);
  if (!carrier.interface) return carrier;
  carrier.is_vlan = carrier.interface->kind == InterfaceKind::vlan;
  carrier.is_foreign =
      !device.interfaces.empty() && !stands_on(*carrier.interface, device, interfaces);
  return carrier;
}

// The reason why an entry can never be used; empty if it can.
std::string unfit(const Gid& gid, const Carrier& carrier) {
  if (gid.type == GidType::v1) return "RoCE v1";
  const GidScope scope = scope_of(gid.bytes);
  if (scope == GidScope::link_local || scope == GidScope::ipv4_link_local) return "link-local";
  if (carrier.interface && !carrier.interface->is_up) {
    return fmt::format("{} is down", carrier.interface->name);
  }
  return {};
}

// The sort key of entries; the smallest is the best.
using Fitness = std::tuple<bool, bool, bool, bool, int>;
Fitness fitness(const Gid& gid, const Carrier& carrier) {
  return {gid.type == GidType::unknown, !is_ipv4(gid.bytes), carrier.is_foreign, carrier.is_vlan,
          gid.index};
}

std::string why_worse(const Gid& gid, const Carrier& carrier, const Gid& best,
                      const Carrier& best_carrier) {
  if (gid.type == GidType::unknown && best.type != GidType::unknown) {
    return "its type cannot be read";
  }
  if (!is_ipv4(gid.bytes) && is_ipv4(best.bytes)) return "IPv6";
  if (carrier.is_foreign && !best_carrier.is_foreign) {
    return fmt::format("{} belongs to another adapter", carrier.interface->name);
  }
  if (carrier.is_vlan && !best_carrier.is_vlan) {
    return carrier.interface->vlan == 0 ? "VLAN" : fmt::format("VLAN {}", carrier.interface->vlan);
  }
  return fmt::format("entry {} comes first", best.index);
}

// The reason why NCCL's choice is not as good as `best`.
std::string what_is_wrong(const Port& port, const GidVerdict& verdict) {
  const auto own = std::ranges::find(port.gids, verdict.nccl_index, &Gid::index);
  if (own == port.gids.end()) return fmt::format("entry {} is empty", verdict.nccl_index);
  const auto& why = verdict.why_not[static_cast<std::size_t>(own - port.gids.begin())];
  return fmt::format("entry {} ({}): {}", own->index, address_of(own->bytes), why);
}

GidVerdict choose_gid(const Device& device, const Port& port,
                      std::span<const Interface> interfaces) {
  GidVerdict verdict;
  std::vector<Carrier> carriers;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    carriers.push_back(carrier_of(port.gids[i], device, interfaces));
    verdict.why_not.push_back(unfit(port.gids[i], carriers[i]));
    if (!verdict.why_not[i].empty()) continue;
    const bool better =
        !best || fitness(port.gids[i], carriers[i]) < fitness(port.gids[*best], carriers[*best]);
    if (better) best = i;
  }
  verdict.nccl_index = nccl_gid_index(port.gids);
  if (!best) return verdict;
  const Gid& chosen = port.gids[*best];
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    if (i == *best || !verdict.why_not[i].empty()) continue;
    verdict.why_not[i] = why_worse(port.gids[i], carriers[i], chosen, carriers[*best]);
  }
  verdict.index = chosen.index;
  if (verdict.nccl_index != chosen.index) verdict.nccl_wrong = what_is_wrong(port, verdict);
  return verdict;
}

// The entry that lacks least to be usable, and what it lacks: that is what can be mended.
std::string nearest_misfit(const Port& port, const GidVerdict& verdict) {
  const auto lack = [](const Gid& gid) {
    return std::tuple(gid.type == GidType::v1, !is_ipv4(gid.bytes), gid.index);
  };
  const auto nearest = std::ranges::min_element(port.gids, {}, lack);
  const auto& why = verdict.why_not[static_cast<std::size_t>(nearest - port.gids.begin())];
  return fmt::format("entry {} ({}): {}", nearest->index, address_of(nearest->bytes), why);
}

std::string why_unusable(const Device& device, const Port& port, const GidVerdict& gid) {
  if (is_efa(device))
    return "EFA: NCCL uses this adapter through NCCL's OFI plugin, not as an RDMA device";
  if (port.state != PortState::active) {
    const bool waits = port.state == PortState::init && port.link_layer == LinkLayer::infiniband;
    return fmt::format("the port is {}{}", name_of(port.state),
                       waits ? ": no subnet manager has configured the port" : "");
  }
  if (port.link_layer == LinkLayer::unknown) return "neither InfiniBand nor Ethernet";
  if (port.link_layer == LinkLayer::infiniband && port.lid == 0) {
    return "no subnet manager has given the port a LID";
  }
  if (port.link_layer == LinkLayer::ethernet && !gid.index) {
    return port.gids.empty() ? "no GID: the port's interface has no address here"
                             : "no GID that can be routed: " + nearest_misfit(port, gid);
  }
  return {};
}

bool carries_default_route(const Device& device, std::span<const Interface> interfaces) {
  return std::ranges::any_of(interfaces, [&](const Interface& interface) {
    return interface.has_default_route && stands_on(interface, device, interfaces);
  });
}

class Chooser {
 public:
  Chooser(std::span<const Device> devices, std::span<const Interface> interfaces)
      : devices_(devices), interfaces_(interfaces) {}

  Choice choose() {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      for (std::size_t p = 0; p < devices_[d].ports.size(); ++p) add(d, p);
    }
    choice_.layer = best_layer();
    leave_out([&](const PortVerdict& verdict) { return other_layer(port(verdict)); });
    const double fastest = fastest_rate();
    leave_out([&](const PortVerdict& verdict) { return too_slow(verdict, fastest); });
    return std::move(choice_);
  }

 private:
  const Port& port(const PortVerdict& verdict) const {
    return devices_[verdict.device].ports[verdict.port];
  }

  void add(std::size_t d, std::size_t p) {
    const Port& port = devices_[d].ports[p];
    PortVerdict verdict{d, p, {}, {}};
    if (port.link_layer == LinkLayer::ethernet) {
      verdict.gid = choose_gid(devices_[d], port, interfaces_);
    }
    verdict.why_not = why_unusable(devices_[d], port, verdict.gid);
    choice_.ports.push_back(std::move(verdict));
  }

  double sum_of(LinkLayer layer) const {
    double sum = 0;
    for (const PortVerdict& verdict : choice_.ports) {
      // A port with an unknown rate still counts.
      if (verdict.is_chosen() && port(verdict).link_layer == layer) {
        sum += std::max(1.0, port(verdict).rate_gbps);
      }
    }
    return sum;
  }

  LinkLayer best_layer() const {
    const double infiniband = sum_of(LinkLayer::infiniband);
    const double ethernet = sum_of(LinkLayer::ethernet);
    if (infiniband == 0 && ethernet == 0) return LinkLayer::unknown;
    return infiniband >= ethernet ? LinkLayer::infiniband : LinkLayer::ethernet;
  }

  double fastest_rate() const {
    double fastest = 0;
    for (const PortVerdict& verdict : choice_.ports) {
      if (verdict.is_chosen()) fastest = std::max(fastest, port(verdict).rate_gbps);
    }
    return fastest;
  }

  std::string other_layer(const Port& port) const {
    if (port.link_layer == choice_.layer) return {};
    return choice_.layer == LinkLayer::infiniband ? "Ethernet beside faster InfiniBand"
                                                  : "InfiniBand beside faster Ethernet";
  }

  std::string too_slow(const PortVerdict& verdict, double fastest) const {
    const double rate = port(verdict).rate_gbps;
    if (rate == 0 || rate == fastest) return {};
    if (rate < least_share * fastest) {
      return fmt::format("{:g} Gb/s beside {:g}: for storage or management", rate, fastest);
    }
    if (!carries_default_route(devices_[verdict.device], interfaces_)) return {};
    return fmt::format("{:g} Gb/s beside {:g}, and the host's default route: for management", rate,
                       fastest);
  }

  template <class Reason>
  void leave_out(const Reason& reason) {
    for (PortVerdict& verdict : choice_.ports) {
      if (verdict.is_chosen()) verdict.why_not = reason(verdict);
    }
  }

  std::span<const Device> devices_;
  std::span<const Interface> interfaces_;
  Choice choice_;
};

}  // namespace

double chosen_gbps(std::span<const Device> devices, const Choice& choice) {
  double sum = 0;
  for (const PortVerdict& verdict : choice.ports) {
    if (verdict.is_chosen()) sum += devices[verdict.device].ports[verdict.port].rate_gbps;
  }
  return sum;
}

bool is_efa(const Device& device) {
  return device.vendor == amazon;
}

Choice choose_ports(std::span<const Device> devices, std::span<const Interface> interfaces) {
  return Chooser(devices, interfaces).choose();
}

}  // namespace toprun::fabric
