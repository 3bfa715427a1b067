#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/net/address.h"
#include "base/os/pool.h"
#include "base/text/error.h"

namespace toprun::hosts {

// The sources for looking up names; the defaults are this host's.
struct Resolver {
  std::string dns_servers;  // "10.0.0.1,[::1]:5300"; empty: as /etc/resolv.conf says
  // The program that asks NSS (LDAP, sssd, myhostname), found in PATH unless it holds a slash; a
  // missing one is passed over.
  std::string getent = "getent";
};

// The addresses of a name, literals included, IPv4 first, without duplicates: c-ares (hosts file
// and DNS), then `getent ahosts` if it exists. Gives up after `timeout`; c-ares gets at most half
// of it if getent exists. Blocks; any thread may call it. Error: the name and the resolvers'
// reasons.
Result<std::vector<Address>> resolve(const std::string& name, std::chrono::milliseconds timeout,
                                     const Resolver& resolver = {});

// As resolve(), on a thread of the pool: neither a silent server nor a hanging file system with the
// resolver's configuration blocks the caller.
boost::asio::awaitable<Result<std::vector<Address>>> resolve_beside(
    Pool& pool, std::string name, std::chrono::milliseconds timeout);

// Whether peers can reach this host by `name`: it resolves to an address in `local` that is not a
// loopback address, and to no loopback address (Debian's 127.0.1.1, which Gloo would bind and
// announce).
bool resolves_to_one_of(const std::string& name, std::span<const LocalAddress> local,
                        std::chrono::milliseconds timeout, const Resolver& resolver = {});

// Whether two names belong to the same host, judged by the names: they are equal, or equal up to
// their domains. Addresses must be equal.
bool same_host(const std::string& a, const std::string& b);

// Whether every host reaches only itself by this name or address, judged by its text: localhost
// (RFC 6761 section 6.3), the names that Debian gives ::1, a loopback address, 0.0.0.0 or [::].
bool reaches_itself_only(const std::string& host);

}  // namespace toprun::hosts
