#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace toprun::fabric {

using GidBytes = std::array<std::uint8_t, 16>;

enum class GidType : std::uint8_t {
  unknown,  // the kernel does not tell: older than 4.4, or the entry's interface is out of sight
  v1,       // "IB/RoCE v1": InfiniBand's own, or RoCE without IP
  v2,       // "RoCE v2": over UDP, can be routed
};

enum class GidScope : std::uint8_t {
  link_local,       // fe80::/10
  ipv4,             // ::ffff:a.b.c.d
  ipv4_link_local,  // ::ffff:169.254.c.d
  ipv6,             // all others
};

// An entry of a port's GID table (Linux: Documentation/ABI/stable/sysfs-class-infiniband).
struct Gid {
  int index = 0;
  GidBytes bytes{};
  GidType type = GidType::unknown;
  std::string interface;  // that carries its address; empty: the kernel does not tell
};

// "fe80:0000:0000:0000:ee0d:9aff:fe2e:c1b6", as sysfs writes it. nullopt: another form.
std::optional<GidBytes> parse_gid(std::string_view text);
bool is_zero(const GidBytes& bytes);  // an empty entry
GidScope scope_of(const GidBytes& bytes);
bool is_ipv4(const GidBytes& bytes);  // 169.254.0.0/16 included
// The lower half: an InfiniBand port's GUID, where it is entry 0.
std::uint64_t interface_id(const GidBytes& bytes);
// "10.0.4.7" or "fe80::ee0d:9aff:fe2e:c1b6".
std::string address_of(const GidBytes& bytes);

// A range of addresses, as NCCL_IB_ADDR_RANGE takes it.
struct GidRange {
  GidBytes prefix{};
  int bits = 0;  // of the 128

  bool contains(const GidBytes& bytes) const;
  std::string text() const;  // "10.0.4.0/24", "fd00::/64"
};

// The settings of NCCL's search for a GID.
struct GidSearch {
  bool ipv6 = false;  // NCCL_IB_ADDR_FAMILY
  std::optional<GidRange> range{};
};

// The index that NCCL from 2.21 on takes of a table whose entries, in order of their indices, are
// `gids`; those that are left out are empty. From ncclIbGetGidIndex() in NCCL's net_ib: it begins
// with entry 0 and ends there where no entry suits.
int nccl_gid_index(std::span<const Gid> gids, const GidSearch& search = {});

}  // namespace toprun::fabric
