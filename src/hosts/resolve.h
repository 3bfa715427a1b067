#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/error.h"
#include "base/pool.h"
#include "hosts/address.h"

namespace toprun::hosts {

// Where names are looked up; the defaults are this host's.
struct Resolver {
  std::string dns_servers;  // "10.0.0.1,[::1]:5300"; empty: as /etc/resolv.conf says
  // The program that asks NSS (LDAP, sssd, myhostname), found in PATH unless it holds a slash; a
  // missing one is passed over.
  std::string getent = "getent";
};

// The addresses of a name, literals included, IPv4 first, without duplicates: c-ares (hosts file
// and DNS), then `getent ahosts` where it exists. Gives up after `timeout`, of which c-ares gets at
// most half where getent can still be asked. Blocks; any thread may call
// it. Error: the name and the resolvers' reasons.
Result<std::vector<Address>> resolve(const std::string& name, std::chrono::milliseconds timeout,
                                     const Resolver& resolver = {});

// As resolve(), on a thread of the pool's, so that nobody is held up: not by a server that does not
// answer, nor by a file system that hangs with the files that tell where to ask.
boost::asio::awaitable<Result<std::vector<Address>>> resolve_beside(
    Pool& pool, std::string name, std::chrono::milliseconds timeout);

// Whether peers can reach this host by `name`: it resolves, to no loopback address (Debian's
// 127.0.1.1, which Gloo would bind and announce), and to one of `local` that is not a loopback one.
bool resolves_to_one_of(const std::string& name, std::span<const LocalAddress> local,
                        std::chrono::milliseconds timeout, const Resolver& resolver = {});

// Whether two names are one host's, as far as the names tell: they are alike, or alike up to their
// domains. An address is another's only if both are the same address.
bool same_host(const std::string& a, const std::string& b);

}  // namespace toprun::hosts
