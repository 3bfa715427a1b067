#include "base/net/address.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "base/os/files.h"
#include "base/text/clock.h"
#include "base/text/text.h"

namespace toprun::hosts {
namespace {

constexpr std::string_view v4_mapped_prefix("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

std::uint32_t scope_from(const std::string& zone) {
  if (const unsigned index = ::if_nametoindex(zone.c_str()); index != 0) return index;
  const auto number = parse_int(zone);
  return number && *number > 0 && *number <= UINT32_MAX ? static_cast<std::uint32_t>(*number) : 0;
}

std::string zone_text(std::uint32_t scope) {
  char name[IF_NAMESIZE];
  return ::if_indextoname(scope, name) != nullptr ? name : fmt::format("{}", scope);
}

// Limits for the search of holder_of_port, which runs when a message is already due.
constexpr int max_processes_searched = 20'000;
constexpr int max_descriptors_searched = 200'000;
constexpr std::string_view listening_state = "0A";  // TCP_LISTEN in /proc/net/tcp

// `error`: errno of the failed call, 0 for success.
struct Listening {
  Fd socket;
  int error = 0;
};

// A bound socket that does not listen yet.
Listening bind_at(int family, const sockaddr* address, socklen_t length) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {{}, errno};
  const int on = 1;
  const int off = 0;
  // Connections of an earlier job in TIME_WAIT must not block the port. On Linux, the option does
  // not let two sockets listen on one port: listen() or bind() of the second fails.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6 &&  // a socket bound to ::1 ignores the option
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) {
    return {{}, errno};
  }
  if (::bind(socket.get(), address, length) != 0) return {{}, errno};
  return {std::move(socket), 0};
}

// Two sockets may be bound to one port. If both call listen() at the same moment, both fail
// (Linux), and each would take the other for the port's holder. So after a failed listen(), try
// again after a random pause. If another process really holds the port, bind() fails.
Listening listen_at(int family, const sockaddr* address, socklen_t length) {
  constexpr int most_collisions = 8;
  constexpr unsigned longest_first_pause_us = 500;
  std::random_device random;
  for (int collisions = 0;; ++collisions) {
    Listening made = bind_at(family, address, length);
    if (made.error != 0) return made;
    // The kernel reduces the backlog to net.core.somaxconn.
    if (::listen(made.socket.get(), INT32_MAX) == 0) return made;
    const int error = errno;
    if (error != EADDRINUSE || collisions == most_collisions) return {{}, error};
    made.socket.reset();
    const unsigned longest_us = longest_first_pause_us << collisions;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest_us));
  }
}

bool can_bind(const Address& address) {
  const sockaddr_storage any_port = address.with_port(0);
  const Fd socket(::socket(any_port.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any_port), address.length()) == 0;
}

// The inodes of the sockets that listen on the port, from one of the /proc/net/tcp tables: a header
// line, then "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …",
// addresses as HEX:PORT (proc(5)).
void add_listening_inodes(const char* table, int port, std::vector<std::string>& inodes) {
  const auto text = read_file(table);
  if (!text) return;
  const std::string suffix = fmt::format(":{:04X}", port);
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 10 || fields[3] != listening_state || !fields[1].ends_with(suffix))
      continue;
    inodes.push_back(fmt::format("socket:[{}]", fields[9]));
  }
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

bool holds_one_of(const std::string& descriptors, const std::vector<std::string>& sockets,
                  int& searched) {
  const Directory directory(::opendir(descriptors.c_str()));
  if (!directory) return false;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (++searched > max_descriptors_searched) return false;
    char link[64];
    const ssize_t length = ::readlinkat(::dirfd(directory.get()), entry->d_name, link, sizeof link);
    if (length <= 0) continue;
    const std::string_view target(link, static_cast<std::size_t>(length));
    if (std::ranges::find(sockets, target) != sockets.end()) return true;
  }
  return false;
}

int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool has_answered(const pollfd& connection) {
  if (connection.revents == 0) return false;
  const int error = error_of(connection.fd);
  return error == 0 || error == ECONNREFUSED;
}

}  // namespace

std::optional<Address> Address::parse(std::string_view literal) {
  Address address;
  const std::size_t percent = literal.find('%');
  const std::string digits(literal.substr(0, percent));
  if (percent == std::string_view::npos &&
      ::inet_pton(AF_INET, digits.c_str(), address.bytes_.data()) == 1) {
    return address;
  }
  sockaddr_storage storage{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  v6.sin6_family = AF_INET6;
  if (::inet_pton(AF_INET6, digits.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  if (percent != std::string_view::npos) {
    v6.sin6_scope_id = scope_from(std::string(literal.substr(percent + 1)));
    if (v6.sin6_scope_id == 0) return std::nullopt;
  }
  return from(storage);
}

Address Address::from(const sockaddr_storage& socket_address) {
  Address address;
  if (socket_address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket_address);
    std::memcpy(address.bytes_.data(), &v4.sin_addr, 4);
    return address;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket_address);
  const auto* bytes = v6.sin6_addr.s6_addr;
  if (std::memcmp(bytes, v4_mapped_prefix.data(), v4_mapped_prefix.size()) == 0) {
    std::memcpy(address.bytes_.data(), bytes + v4_mapped_prefix.size(), 4);
    return address;
  }
  address.v4_ = false;
  std::memcpy(address.bytes_.data(), bytes, 16);
  address.scope_ = v6.sin6_scope_id;
  return address;
}

std::string Address::text() const {
  char buffer[INET6_ADDRSTRLEN];
  ::inet_ntop(v4_ ? AF_INET : AF_INET6, bytes_.data(), buffer, sizeof buffer);
  std::string text = buffer;
  if (scope_ != 0) text += "%" + zone_text(scope_);
  return text;
}

bool Address::is_v4() const {
  return v4_;
}

bool Address::is_loopback() const {
  if (v4_) return bytes_[0] == 127;
  return std::all_of(bytes_.begin(), bytes_.end() - 1, [](auto byte) { return byte == 0; }) &&
         bytes_[15] == 1;
}

bool Address::is_link_local() const {
  if (v4_) return bytes_[0] == 169 && bytes_[1] == 254;
  return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

sockaddr_storage Address::with_port(int port) const {
  sockaddr_storage storage{};
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (v4_) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = network_port;
    std::memcpy(&v4.sin_addr, bytes_.data(), 4);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = network_port;
    v6.sin6_scope_id = scope_;
    std::memcpy(&v6.sin6_addr, bytes_.data(), 16);
  }
  return storage;
}

socklen_t Address::length() const {
  return v4_ ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::vector<Address> reachable_among(const std::vector<LocalAddress>& all, std::size_t most) {
  std::vector<Address> chosen;
  for (const bool on_loopback : {false, true}) {
    for (const LocalAddress& local : all) {
      const bool is_useful = !local.address.is_loopback() && !local.address.is_link_local();
      if (!is_useful || (local.interface == "lo") != on_loopback) continue;
      if (chosen.size() < most) chosen.push_back(local.address);
    }
  }
  return chosen;
}

std::optional<Address> own_address_towards(const Address& remote) {
  constexpr int any_port = 9;
  const sockaddr_storage target = remote.with_port(any_port);
  const Fd socket(::socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), remote.length()) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return std::nullopt;
  }
  return Address::from(own);
}

Result<std::vector<LocalAddress>> local_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail_errno("cannot list this host's addresses");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<LocalAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    if (!v4 && entry->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, entry->ifa_addr, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    addresses.push_back({Address::from(storage), entry->ifa_name});
  }
  return addresses;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, HOST_NAME_MAX);
  return name;
}

Address loopback() {
  const Address v4 = *Address::parse("127.0.0.1");
  const Address v6 = *Address::parse("::1");
  return !can_bind(v4) && can_bind(v6) ? v6 : v4;
}

std::expected<Fd, CannotListen> listen_on(int port, Reach reach) {
  const std::string what = fmt::format("cannot listen on port {}", port);
  if (port < 0 || port > max_port) {
    return std::unexpected(
        CannotListen{usage(what, fmt::format("ports end at {}", max_port)).error(), {}});
  }
  const auto try_address = [port](const Address& address) {
    const sockaddr_storage target = address.with_port(port);
    return listen_at(target.ss_family, reinterpret_cast<const sockaddr*>(&target),
                     address.length());
  };
  Listening made = try_address(reach == Reach::this_host ? loopback() : *Address::parse("::"));
  // The host has no IPv6, or no loopback that is up. Other errors would affect IPv4 too, or the
  // second attempt would hide the port's holder.
  if (made.error == EAFNOSUPPORT || made.error == EADDRNOTAVAIL || made.error == EINVAL) {
    made = try_address(*Address::parse("0.0.0.0"));
  }
  if (made.error == 0) return std::move(made.socket);
  std::optional<Holder> holder;
  std::string fix;
  if (made.error == EADDRINUSE) {
    holder = holder_of_port(port);
    fix = holder ? fmt::format("{} holds it", holder->text()) : "choose another port";
  }
  return std::unexpected(CannotListen{fail_errno(made.error, what, fix).error(), holder});
}

int port_of(const Fd& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

std::string Holder::text() const {
  return fmt::format("{} (pid {})", name.empty() ? "a program" : name, pid);
}

std::optional<Holder> holder_of_port(int port) {
  std::vector<std::string> sockets;
  add_listening_inodes("/proc/net/tcp", port, sockets);
  add_listening_inodes("/proc/net/tcp6", port, sockets);
  if (sockets.empty()) return std::nullopt;
  const Directory proc(::opendir("/proc"));
  if (!proc) return std::nullopt;
  int processes = 0;
  int descriptors = 0;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = parse_int(entry->d_name);
    if (!pid) continue;
    if (++processes > max_processes_searched) return std::nullopt;
    const std::string process = fmt::format("/proc/{}", *pid);
    if (!holds_one_of(process + "/fd", sockets, descriptors)) continue;
    const auto name = read_file(process + "/comm");
    return Holder{std::string(trim(name.value_or(""))), *pid};
  }
  return std::nullopt;
}

Fd begin_to_connect(const Address& address, int port) {
  const sockaddr_storage target = address.with_port(port);
  Fd socket(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  const int done =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), address.length());
  return done == 0 || errno == EINPROGRESS ? std::move(socket) : Fd();
}

int connection_error(const Fd& socket) {
  return error_of(socket.get());
}

bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  std::vector<Fd> sockets;
  std::vector<pollfd> waiting;
  for (const Address& address : addresses) {
    Fd socket = begin_to_connect(address, port);
    if (!socket && errno == ECONNREFUSED) return true;
    if (!socket) continue;
    waiting.push_back({socket.get(), POLLOUT, 0});
    sockets.push_back(std::move(socket));
  }
  while (!waiting.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(waiting.data(), waiting.size(),
                             static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (std::ranges::any_of(waiting, has_answered)) return true;
    std::erase_if(waiting, [](const pollfd& one) { return one.revents != 0; });
  }
  return false;
}

}  // namespace toprun::hosts
