#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace toprun {

// A Unix socket or one of TCP: both are read by the same code.
using HttpStream = boost::asio::generic::stream_protocol::socket;

// Reads until the parser has a whole message of HTTP/1.1, or the other end has no more. Beast's own
// way to do this is 30 KB of templates for requests and as much for answers.
template <bool is_request>
boost::asio::awaitable<boost::system::error_code> read_http(
    HttpStream& socket, boost::beast::http::basic_parser<is_request>& parser);

}  // namespace toprun
