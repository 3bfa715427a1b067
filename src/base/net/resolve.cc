#include "base/net/resolve.h"

#include <ares.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/text.h"

namespace toprun::hosts {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_dns_name_bytes = 253;  // RFC 1035 3.1, as text
constexpr milliseconds thread_margin{500};       // for a thread to report that its time is over

// The addresses from one resolver, or the reason why there are none.
struct Answer {
  std::vector<Address> addresses;
  std::string why;
};

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, INT32_MAX));
}

void collect(void* answer_pointer, int status, int, ares_addrinfo* found) {
  auto& answer = *static_cast<Answer*>(answer_pointer);
  if (status != ARES_SUCCESS) {
    answer.why = ares_strerror(status);
    return;
  }
  for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, node->ai_addr, std::min<std::size_t>(node->ai_addrlen, sizeof storage));
    answer.addresses.push_back(Address::from(storage));
  }
  ares_freeaddrinfo(found);
}

// Runs c-ares until it has answered; cancels the query at the deadline.
void drive(ares_channel channel, SteadyTime deadline, Answer& answer) {
  for (;;) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    const auto requested =
        static_cast<unsigned>(ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM));
    std::vector<pollfd> polled;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
      const int events = (ARES_GETSOCK_READABLE(requested, i) ? POLLIN : 0) |
                         (ARES_GETSOCK_WRITABLE(requested, i) ? POLLOUT : 0);
      if (events != 0) polled.push_back({sockets[i], static_cast<short>(events), 0});
    }
    if (polled.empty()) return;
    const int left_ms = milliseconds_until(deadline);
    if (left_ms == 0) {
      ares_cancel(channel);
      answer.why = "no DNS server answered in time";
      return;
    }
    timeval limit{left_ms / 1000, (left_ms % 1000) * 1000L};
    timeval due{};
    const timeval* wait = ares_timeout(channel, &limit, &due);
    ::poll(polled.data(), polled.size(),
           static_cast<int>(wait->tv_sec * 1000 + (wait->tv_usec + 999) / 1000));
    bool any = false;
    for (const pollfd& fd : polled) {
      if (fd.revents == 0) continue;
      any = true;
      const bool readable = (fd.revents & (POLLIN | POLLERR | POLLHUP)) != 0;
      ares_process_fd(channel, readable ? fd.fd : ARES_SOCKET_BAD,
                      (fd.revents & POLLOUT) != 0 ? fd.fd : ARES_SOCKET_BAD);
    }
    if (!any) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  }
}

Answer ask_cares(const std::string& name, SteadyTime deadline, const Resolver& resolver) {
  static std::once_flag initialized;  // ares_library_init is not thread-safe
  std::call_once(initialized, [] { ares_library_init(ARES_LIB_INIT_ALL); });
  ares_channel channel = nullptr;
  if (const int status = ares_init(&channel); status != ARES_SUCCESS) {
    return {{}, ares_strerror(status)};
  }
  const std::unique_ptr<ares_channeldata, decltype(&ares_destroy)> owner(channel, &ares_destroy);
  if (!resolver.dns_servers.empty()) {
    ares_set_servers_ports_csv(channel, resolver.dns_servers.c_str());
  }
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  Answer answer;
  ares_getaddrinfo(channel, name.c_str(), nullptr, &hints, &collect, &answer);
  drive(channel, deadline, answer);
  return answer;
}

// Parses lines of getent(1): "10.0.0.1  STREAM name".
Answer ask_getent(const std::string& path, const std::string& name, SteadyTime deadline) {
  const auto finished = process::run({path, "ahosts", name}, Environment::from(environ),
                                     std::chrono::ceil<milliseconds>(deadline - Clock::now()));
  if (!finished) return {{}, "getent did not answer: " + finished.error()->why};
  Answer answer;
  for (const std::string_view line : split(finished->out, '\n')) {
    const auto fields = words(line);
    if (fields.empty()) continue;
    if (const auto address = Address::parse(fields[0])) answer.addresses.push_back(*address);
  }
  if (answer.addresses.empty()) answer.why = "getent does not find the name either";
  return answer;
}

std::vector<Address> v4_first_once_each(const std::vector<Address>& found) {
  std::vector<Address> addresses;
  for (const Address& address : found) {
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  std::ranges::stable_partition(addresses, [](const Address& address) { return address.is_v4(); });
  return addresses;
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& name, milliseconds timeout,
                                     const Resolver& resolver) {
  if (const auto literal = Address::parse(name)) return std::vector{*literal};
  const std::string what = fmt::format("cannot resolve host name \"{}\"", name);
  if (name.empty()) return fail(what, "the name is empty");
  // getent would take a leading dash for an option.
  if (name.size() > max_dns_name_bytes || name.front() == '-' ||
      name.find_first_of(" \t\r\n/") != std::string::npos || name.find('\0') != std::string::npos) {
    return fail(what, "this is not a valid host name");
  }
  const SteadyTime start = Clock::now();
  // This saves a process if getent is missing.
  const auto getent = process::find_program(resolver.getent, Environment::from(environ));
  const Answer first = ask_cares(name, start + (getent ? timeout / 2 : timeout), resolver);
  if (!first.addresses.empty()) return v4_first_once_each(first.addresses);
  const std::string why = first.why.empty() ? "the name has no addresses" : first.why;
  if (!getent) return fail(what, why);
  const Answer second = ask_getent(*getent, name, start + timeout);
  if (second.addresses.empty()) return fail(what, why + "; " + second.why);
  return v4_first_once_each(second.addresses);
}

boost::asio::awaitable<Result<std::vector<Address>>> resolve_beside(Pool& pool, std::string name,
                                                                    milliseconds timeout) {
  using Found = Result<std::vector<Address>>;
  if (const auto literal = Address::parse(name)) co_return std::vector{*literal};
  std::function<Found()> work = [name, timeout] { return resolve(name, timeout); };
  auto found = co_await pool.answer<Found>(std::move(work), timeout + thread_margin);
  if (found) co_return *std::move(found);
  co_return fail(fmt::format("cannot resolve host name \"{}\"", name),
                 found.error() == Pool::NoAnswer::late
                     ? "the resolver hangs, or the file system of its configuration files hangs"
                     : Pool::words_for(found.error(), timeout));
}

bool resolves_to_one_of(const std::string& name, std::span<const LocalAddress> local,
                        milliseconds timeout, const Resolver& resolver) {
  const auto addresses = resolve(name, timeout, resolver);
  if (!addresses || std::ranges::any_of(*addresses, &Address::is_loopback)) return false;
  return std::ranges::any_of(local, [&](const LocalAddress& own) {
    return std::ranges::find(*addresses, own.address) != addresses->end();
  });
}

bool same_host(const std::string& a, const std::string& b) {
  const auto address_a = Address::parse(a);
  const auto address_b = Address::parse(b);
  if (address_a || address_b) return address_a == address_b;
  return a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

bool reaches_itself_only(const std::string& host) {
  if (const auto address = Address::parse(host)) {
    const std::string text = address->text();
    return address->is_loopback() || text == "0.0.0.0" || text == "::";
  }
  const std::string name = lower(host);
  return name == "localhost" || name == "localhost.localdomain" || name.ends_with(".localhost") ||
         name == "ip6-localhost" || name == "ip6-loopback";
}

}  // namespace toprun::hosts
