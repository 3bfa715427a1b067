#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::topology {

// Metadata values have a few hundred bytes. A server that sends more is not a metadata server.
inline constexpr std::size_t max_metadata_header_bytes = 16u << 10;
inline constexpr std::size_t max_metadata_body_bytes = 64u << 10;

// The address of a cloud's metadata server: 169.254.169.254, port 80. Outside a cloud this address
// does not answer, so callers must know that they are in a cloud (cloud.h).
boost::asio::ip::tcp::endpoint metadata_server();

struct Question {
  std::string path;  // "/latest/meta-data/instance-id"
  std::vector<std::pair<std::string, std::string>> headers;
  bool put = false;  // true: PUT; false: GET
};

// Sends one HTTP request on its own connection; redirects are not followed. Returns the answer's
// body, or nullopt if there is no such attribute (404). Errors: no complete answer by the deadline,
// connection refused, any other status, an answer that is too long or not HTTP. `what` contains the
// server and the path, `why` the reason.
boost::asio::awaitable<Result<std::optional<std::string>>> ask(
    boost::asio::ip::tcp::endpoint server, Question question, SteadyTime deadline);

}  // namespace toprun::topology
