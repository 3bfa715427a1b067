#pragma once

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::hosts {

// An IPv4 or IPv6 address without a port.
class Address {
 public:
  // Accepts "10.0.0.1", "::1", "fe80::1%eth0" or "fe80::1%2", without brackets. A v4-mapped address
  // becomes IPv4.
  static std::optional<Address> parse(std::string_view literal);
  // Converts an AF_INET or AF_INET6 socket address. A v4-mapped address becomes IPv4.
  static Address from(const sockaddr_storage& socket_address);

  std::string text() const;
  bool is_v4() const;
  bool is_loopback() const;
  bool is_link_local() const;
  sockaddr_storage with_port(int port) const;
  socklen_t length() const;  // the length of the result of with_port()
  auto operator<=>(const Address&) const = default;

 private:
  bool v4_ = true;
  std::array<std::uint8_t, 16> bytes_{};
  std::uint32_t scope_ = 0;
};

// An address of this host and its network interface.
struct LocalAddress {
  Address address;
  std::string interface;
};
// Returns the addresses of all interfaces that are up, loopback addresses included.
Result<std::vector<LocalAddress>> local_addresses();
// Returns the address from which the kernel would send to `remote`, but sends nothing. nullopt: the
// kernel has no route.
std::optional<Address> own_address_towards(const Address& remote);
// Selects at most `most` addresses at which other hosts may reach this host. Addresses of the
// interface "lo" come last, because a load balancer's host may have thousands of service addresses
// there.
std::vector<Address> reachable_among(const std::vector<LocalAddress>& all, std::size_t most);

// Returns the result of gethostname(2).
std::string host_name();

inline constexpr int max_port = 65535;

// Returns 127.0.0.1 or, if the host has no IPv4, ::1.
Address loopback();

// Which hosts can connect to a listening socket.
enum class Reach : std::uint8_t {
  everybody,  // every address: [::], dual stack; 0.0.0.0 only if the host has no IPv6
  this_host,  // only the address loopback()
};

// A process that listens on a port in this network namespace.
struct Holder {
  std::string name;  // the command name that the kernel reports; empty: unknown
  std::int64_t pid = 0;
  std::string text() const;  // "python3 (pid 4711)"
};
// Returns the process that listens on the port. Unset if /proc hides the process's descriptors, as
// it does for other users' processes.
std::optional<Holder> holder_of_port(int port);

struct CannotListen {
  Error error;
  std::optional<Holder> holder;  // the process that holds the port; unset: the reason is another
                                 // one, or the process is unknown
};
// Opens a listening TCP socket, close-on-exec, non-blocking, with the largest backlog that the
// kernel allows. Port 0: the kernel chooses a port. Error: a socket already listens on this port of
// the host.
std::expected<Fd, CannotListen> listen_on(int port, Reach reach = Reach::everybody);
// Returns the port that the socket is bound to, or 0 if the socket is not bound.
int port_of(const Fd& socket);

// Returns a non-blocking TCP socket whose connection has begun or is established. If there is no
// route, or if the host refuses the connection at once, returns an Fd that is not open, and errno
// contains the reason.
Fd begin_to_connect(const Address& address, int port);
// Returns the errno value of a connection that failed; 0: the connection is established. Call this
// when the socket from begin_to_connect() has become writable.
int connection_error(const Fd& socket);

// Whether a host answers at one of these addresses within `limit`. An answer is an accepted or
// refused TCP connection. False does not prove that the host is down, because a firewall may drop
// the packets.
bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit);

}  // namespace toprun::hosts
