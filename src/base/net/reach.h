#pragma once

#include <chrono>
#include <span>

#include "base/net/address.h"
#include "base/os/fd.h"

namespace toprun::hosts {

// A non-blocking TCP socket whose connection has begun or is established. The result is empty, and
// errno has the reason, if there is no route or if the host refuses the connection at once.
Fd begin_to_connect(const Address& address, int port);
// The errno value that says why the connection failed, for a socket that has become writable. 0:
// the connection is established.
int connection_error(const Fd& socket);

// Whether the host at one of these addresses is up: it accepts or refuses a TCP connection within
// `limit`. False does not prove that the host is down: a firewall may drop the packets.
bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit);

}  // namespace toprun::hosts
