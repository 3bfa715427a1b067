#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "node/worker/warm/parent.h"

namespace toprun::warm {

// Handles the parent's messages until the parent is ready or refused. At the parent's deadline, the
// parent is refused.
boost::asio::awaitable<void> settle(boost::asio::io_context& io, std::shared_ptr<Parent> parent);

}  // namespace toprun::warm
