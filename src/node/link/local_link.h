#pragma once

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "run/model/link.h"

namespace toprun::link {

// Two ends within one process: of the root and of the agent on its own node.
std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> local_link(
    boost::asio::io_context& io);

}  // namespace toprun::link
