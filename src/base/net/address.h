#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::hosts {

// An IPv4 or IPv6 address without a port.
class Address {
 public:
  // "10.0.0.1", "::1", "fe80::1%eth0" or "fe80::1%2", without brackets; v4-mapped becomes IPv4.
  static std::optional<Address> parse(std::string_view literal);
  // Of an AF_INET or AF_INET6 socket address; v4-mapped becomes IPv4.
  static Address from(const sockaddr_storage& socket_address);

  std::string text() const;
  bool is_v4() const;
  bool is_loopback() const;
  bool is_link_local() const;
  sockaddr_storage with_port(int port) const;
  socklen_t length() const;  // of with_port()'s result
  auto operator<=>(const Address&) const = default;

 private:
  bool v4_ = true;
  std::array<std::uint8_t, 16> bytes_{};
  std::uint32_t scope_ = 0;
};

// An address of this host and the interface that carries it.
struct LocalAddress {
  Address address;
  std::string interface;
};
// All addresses of interfaces that are up, including loopback addresses.
Result<std::vector<LocalAddress>> local_addresses();
// The address from which the kernel would send to `remote`; nothing is sent. nullopt: it knows no
// way.
std::optional<Address> own_address_towards(const Address& remote);
// Those at which other hosts may reach this one, at most `most`: addresses of the loopback
// interface last, for a load balancer has its services' there, by the thousand.
std::vector<Address> reachable_among(const std::vector<LocalAddress>& all, std::size_t most);

// gethostname(2).
std::string host_name();

inline constexpr int max_port = 65535;

// 127.0.0.1, or ::1 where the host has no IPv4.
Address loopback();

// Who can connect to a listening socket.
enum class Reach : std::uint8_t {
  everybody,  // every address: [::], dual stack; 0.0.0.0 only where the host has no IPv6
  this_host,  // loopback()
};

// A program that listens on a port of this network namespace.
struct Holder {
  std::string name;  // its command's, as the kernel has it; empty: unknown
  std::int64_t pid = 0;
  std::string text() const;  // "python3 (pid 4711)"
};
// Unset if /proc does not show it: the descriptors of other users' processes are hidden.
std::optional<Holder> holder_of_port(int port);

struct CannotListen {
  Error error;
  std::optional<Holder> holder;  // of the port, if that is the reason and it is known
};
// A listening TCP socket, close-on-exec, non-blocking, with the largest backlog that the kernel
// allows. Port 0: the kernel chooses. Error: another socket listens on the port on one of the same
// addresses.
std::expected<Fd, CannotListen> listen_on(int port, Reach reach = Reach::everybody);
// The port that a socket is bound to; 0 if it is not bound.
int port_of(const Fd& socket);

}  // namespace toprun::hosts
