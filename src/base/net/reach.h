#pragma once

#include <chrono>
#include <span>

#include "base/net/address.h"
#include "base/os/fd.h"

namespace toprun::hosts {

// A non-blocking TCP socket whose connection has begun or is established. Empty: there is no route.
Fd begin_to_connect(const Address& address, int port);

// Whether the host at one of these addresses is up: it accepts or refuses a TCP connection within
// `limit`. False does not prove that the host is down: a firewall may drop the packets.
bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit);

}  // namespace toprun::hosts
