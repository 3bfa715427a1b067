#pragma once

#include <chrono>
#include <span>

#include "base/net/address.h"
#include "base/os/fd.h"

namespace toprun::hosts {

// A non-blocking TCP socket whose connection has begun or is established. Empty, with errno: there
// is no route, or the host refuses at once.
Fd begin_to_connect(const Address& address, int port);
// Why the connection of a socket that is now writable failed, as an errno. 0: it is established.
int connection_error(const Fd& socket);

// Whether the host at one of these addresses is up: it accepts or refuses a TCP connection within
// `limit`. False does not prove that the host is down: a firewall may drop the packets.
bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit);

}  // namespace toprun::hosts
