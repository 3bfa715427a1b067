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

// The sources that resolve() queries for a name. By default, these are this host's own sources.
struct Resolver {
  std::string dns_servers;  // "10.0.0.1,[::1]:5300"; empty: from /etc/resolv.conf
  // The program that queries NSS (LDAP, sssd, myhostname). A name without a slash is looked up in
  // PATH. If the program does not exist, NSS is not queried.
  std::string getent = "getent";
};

// Returns the addresses of a name or literal, IPv4 first, without duplicates. Asks c-ares first
// (hosts file and DNS), then `getent ahosts` if that program exists. Gives up after `timeout`. If
// getent exists, c-ares gets at most half of `timeout`. This function blocks; any thread may call
// this function. The error contains the name, and why c-ares and getent found no address.
Result<std::vector<Address>> resolve(const std::string& name, std::chrono::milliseconds timeout,
                                     const Resolver& resolver = {});

// Like resolve(), but runs on a thread of the pool. So a DNS server that does not answer, or a file
// system that hangs, does not block the caller.
boost::asio::awaitable<Result<std::vector<Address>>> resolve_beside(
    Pool& pool, std::string name, std::chrono::milliseconds timeout);

// Whether peers can reach this host by `name`. The name has to resolve to at least one address in
// `local`. It must not resolve to a loopback address such as Debian's 127.0.1.1, because Gloo would
// bind and announce that address.
bool resolves_to_one_of(const std::string& name, std::span<const LocalAddress> local,
                        std::chrono::milliseconds timeout, const Resolver& resolver = {});

// Whether two names belong to the same host, judged by the names alone. The names have to be equal,
// or equal without their domains; addresses have to be equal.
bool same_host(const std::string& a, const std::string& b);

// Whether a host that uses this name or address reaches only itself, judged by the text alone. Such
// names are localhost (RFC 6761 section 6.3), Debian's names for ::1, a loopback address, 0.0.0.0
// and [::].
bool reaches_itself_only(const std::string& host);

}  // namespace toprun::hosts
