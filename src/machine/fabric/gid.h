#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace toprun::fabric {

using GidBytes = std::array<std::uint8_t, 16>;

enum class GidType : std::uint8_t {
  unknown,  // not reported: a kernel before 4.4, or the entry's interface is not visible
  v1,       // "IB/RoCE v1": InfiniBand, or RoCE without IP
  v2,       // "RoCE v2": over UDP, routable
};

enum class GidScope : std::uint8_t {
  link_local,       // fe80::/10
  ipv4,             // ::ffff:a.b.c.d
  ipv4_link_local,  // ::ffff:169.254.c.d
  ipv6,             // all other addresses
};

// An entry of a port's GID table (Linux's Documentation/ABI/stable/sysfs-class-infiniband).
struct Gid {
  int index = 0;
  GidBytes bytes{};
  GidType type = GidType::unknown;
  std::string interface;  // the interface that has the address; empty: not reported by the kernel
};

// Parses sysfs's form "fe80:0000:0000:0000:ee0d:9aff:fe2e:c1b6". nullopt: another form.
std::optional<GidBytes> parse_gid(std::string_view text);
bool is_zero(const GidBytes& bytes);  // an empty entry
GidScope scope_of(const GidBytes& bytes);
bool is_ipv4(const GidBytes& bytes);  // 169.254.0.0/16 included
// Returns the lower half of a GID. For entry 0 of an InfiniBand port, this is the port's GUID.
std::uint64_t interface_id(const GidBytes& bytes);
// Returns "10.0.4.7" or "fe80::ee0d:9aff:fe2e:c1b6".
std::string address_of(const GidBytes& bytes);

// A range of addresses in the form of NCCL_IB_ADDR_RANGE.
struct GidRange {
  GidBytes prefix{};
  int bits = 0;  // length of the prefix, of 128 bits

  bool contains(const GidBytes& bytes) const;
  std::string text() const;  // "10.0.4.0/24", "fd00::/64"
};

// The settings of NCCL's search for a GID.
struct GidSearch {
  bool ipv6 = false;  // NCCL_IB_ADDR_FAMILY
  std::optional<GidRange> range{};
};

// Returns the GID index that NCCL from 2.21 on chooses. `gids` are the entries of the table in
// order of their indices; missing entries are empty. Follows ncclIbGetGidIndex() in NCCL's net_ib:
// it begins with entry 0, and returns 0 if no entry is suitable.
int nccl_gid_index(std::span<const Gid> gids, const GidSearch& search = {});

}  // namespace toprun::fabric
