#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "node/agent/member.h"
#include "node/agent/root.h"
#include "node/agent/services.h"
#include "run/model/link.h"

namespace toprun::agent {

// A run from here to its end, as the root's process does it; returns the run's exit code.
// Afterwards only the last words are left.
boost::asio::awaitable<int> lead(Services& services, Root& root, Member& member);

// … and as another agent does it that has this link with the root.
boost::asio::awaitable<int> follow(Services& services, Member& member,
                                   std::shared_ptr<model::Link> link);

}  // namespace toprun::agent
