#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/clock.h"
#include "base/error.h"

namespace toprun::topology {

// Values of metadata are a few hundred bytes; whatever answers with more is no metadata server.
inline constexpr std::size_t max_metadata_header_bytes = 16u << 10;
inline constexpr std::size_t max_metadata_body_bytes = 64u << 10;

// Where a cloud's machine finds what the cloud knows of it: 169.254.169.254, port 80. Elsewhere
// that address is a black hole, so it is for callers who know that they are in a cloud (cloud.h).
boost::asio::ip::tcp::endpoint metadata_server();

struct Question {
  std::string path;  // "/latest/meta-data/instance-id"
  std::vector<std::pair<std::string, std::string>> headers;
  bool put = false;  // else GET
};

// One HTTP request on a connection of its own; redirects are not followed. The answer's body, or
// nullopt if there is no such attribute (404). Error: no whole answer by the deadline, refused,
// any other status, too long, no HTTP; `what` names server and path, `why` says which.
boost::asio::awaitable<Result<std::optional<std::string>>> ask(
    boost::asio::ip::tcp::endpoint server, Question question, SteadyTime deadline);

}  // namespace toprun::topology
