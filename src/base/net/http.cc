#include "base/net/http.h"

#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "base/os/timer.h"

namespace toprun {
namespace asio = boost::asio;
namespace http = boost::beast::http;

template <bool is_request>
asio::awaitable<boost::system::error_code> read_http(HttpStream& socket,
                                                     http::basic_parser<is_request>& parser) {
  constexpr std::size_t at_a_time = 64 * 1024;
  boost::system::error_code error;
  std::string unused;  // the begin of what the parser needs more of
  parser.eager(true);
  while (!parser.is_done()) {
    const std::size_t kept = unused.size();
    unused.resize(kept + at_a_time);
    const auto [ended, bytes] = co_await socket.async_read_some(
        asio::mutable_buffer(unused.data() + kept, at_a_time), use_nothrow_awaitable);
    unused.resize(kept + bytes);
    if (ended == asio::error::eof) {
      if (!parser.got_some()) co_return http::error::end_of_stream;
      parser.put_eof(error);
      co_return error;
    }
    if (ended) co_return ended;
    while (!unused.empty() && !parser.is_done()) {
      unused.erase(0, parser.put(asio::const_buffer(unused.data(), unused.size()), error));
      if (error == http::error::need_more) break;
      if (error) co_return error;
    }
    error = {};
  }
  co_return error;
}
template asio::awaitable<boost::system::error_code> read_http(HttpStream&,
                                                              http::basic_parser<true>&);
template asio::awaitable<boost::system::error_code> read_http(HttpStream&,
                                                              http::basic_parser<false>&);

}  // namespace toprun
