#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "node/agent/member.h"
#include "node/agent/root.h"
#include "node/agent/services.h"
#include "run/model/link.h"

namespace toprun::agent {

// Conducts the rest of a run in the root's process and returns the run's exit code. After this
// call, the caller only has to call last_words().
boost::asio::awaitable<int> lead(Services& services, Root& root, Member& member);

// Like lead(), for an agent that is not the root; `link` is its link to the root.
boost::asio::awaitable<int> follow(Services& services, Member& member,
                                   std::shared_ptr<model::Link> link);

}  // namespace toprun::agent
