#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace toprun {

// A Unix or TCP socket. With this common type, the same code can read from Unix and TCP sockets.
using HttpStream = boost::asio::generic::stream_protocol::socket;

// Reads until the parser has a complete HTTP/1.1 message, or the peer closes the connection.
// Beast's own read function would add 30 KB of object code for requests and another 30 KB for
// responses.
template <bool is_request>
boost::asio::awaitable<boost::system::error_code> read_http(
    HttpStream& socket, boost::beast::http::basic_parser<is_request>& parser);

}  // namespace toprun
