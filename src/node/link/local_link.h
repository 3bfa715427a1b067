#pragma once

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "run/model/link.h"

namespace toprun::link {

// The two ends of a link within one process, for the root and for the agent on the root's node.
std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> local_link(
    boost::asio::io_context& io);

}  // namespace toprun::link
