#include "machine/fabric/gid.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::size_t groups = 8;
constexpr std::size_t digits_of_group = 4;
constexpr std::size_t first_ipv4_byte = 12;
constexpr int ipv4_bits = 96;  // bits before the IPv4 address in a mapped one

bool is_link_local(const GidBytes& b) {
  return b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

// The entry with this index; a table may lack entry 0 if it is empty.
const Gid& entry(std::span<const Gid> gids, int index) {
  static const Gid empty;
  const auto found = std::ranges::find(gids, index, &Gid::index);
  return found == gids.end() ? empty : *found;
}

bool is_usable(const Gid& gid) {
  return !is_zero(gid.bytes) && !is_link_local(gid.bytes);
}

// Whether NCCL prefers `candidate` to `current`.
bool is_preferred(const Gid& candidate, const Gid& current, const GidSearch& search) {
  const bool requested = is_ipv4(candidate.bytes) != search.ipv6;
  if (!requested || (search.range && !search.range->contains(candidate.bytes))) return false;
  if (is_ipv4(candidate.bytes) != is_ipv4(current.bytes)) return true;
  if (!is_usable(candidate) || candidate.type != GidType::v2) return false;
  return current.type != GidType::v2 || !is_usable(current);
}

}  // namespace

std::optional<GidBytes> parse_gid(std::string_view text) {
  const auto parts = split(trim(text), ':');
  if (parts.size() != groups) return std::nullopt;
  GidBytes bytes{};
  for (std::size_t i = 0; i < groups; ++i) {
    unsigned value = 0;
    const char* const end = parts[i].data() + parts[i].size();
    const auto [stop, error] = std::from_chars(parts[i].data(), end, value, 16);
    if (error != std::errc() || stop != end || parts[i].size() != digits_of_group) {
      return std::nullopt;
    }
    bytes[2 * i] = static_cast<std::uint8_t>(value >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(value & 0xff);
  }
  return bytes;
}

bool is_zero(const GidBytes& bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

bool is_ipv4(const GidBytes& b) {
  return std::all_of(b.begin(), b.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
         b[10] == 0xff && b[11] == 0xff;
}

GidScope scope_of(const GidBytes& bytes) {
  if (is_link_local(bytes)) return GidScope::link_local;
  if (!is_ipv4(bytes)) return GidScope::ipv6;
  const bool link_local = bytes[first_ipv4_byte] == 169 && bytes[first_ipv4_byte + 1] == 254;
  return link_local ? GidScope::ipv4_link_local : GidScope::ipv4;
}

std::uint64_t interface_id(const GidBytes& bytes) {
  std::uint64_t id = 0;
  for (std::size_t i = bytes.size() / 2; i < bytes.size(); ++i) id = id << 8 | bytes[i];
  return id;
}

std::string address_of(const GidBytes& bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_ipv4(bytes)) {
    ::inet_ntop(AF_INET, bytes.data() + first_ipv4_byte, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  }
  return text;
}

bool GidRange::contains(const GidBytes& bytes) const {
  for (int bit = 0; bit < bits; ++bit) {
    const auto i = static_cast<std::size_t>(bit / 8);
    if (((bytes[i] ^ prefix[i]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

std::string GidRange::text() const {
  return fmt::format("{}/{}", address_of(prefix), is_ipv4(prefix) ? bits - ipv4_bits : bits);
}

int nccl_gid_index(std::span<const Gid> gids, const GidSearch& search) {
  const Gid* current = &entry(gids, 0);
  for (const Gid& candidate : gids) {
    if (candidate.index > 0 && is_preferred(candidate, *current, search)) current = &candidate;
  }
  return current->index;
}

}  // namespace toprun::fabric
