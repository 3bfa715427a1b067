#include "observe/live/http.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/os/timer.h"

namespace toprun::live {
namespace asio = boost::asio;
namespace http = boost::beast::http;

Limit::Limit(const std::shared_ptr<Stream>& socket, std::chrono::seconds limit)
    : timer_(socket->get_executor()), socket_(socket) {
  set(limit);
}

void Limit::set(std::chrono::seconds limit) {
  timer_.expires_after(limit);
  timer_.async_wait([socket = socket_](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error) socket->close(ignored);
  });
}

Silent::Stay::Stay(Silent& all, std::shared_ptr<Stream> socket) : all_(all), number_(++all.last_) {
  all_.sockets_.emplace(number_, std::move(socket));
}

Silent::Stay::~Stay() {
  all_.sockets_.erase(number_);
}

bool Silent::close_oldest() {
  if (sockets_.empty()) return false;
  const std::shared_ptr<Stream> oldest = sockets_.begin()->second;
  sockets_.erase(sockets_.begin());
  boost::system::error_code ignored;
  oldest->close(ignored);
  return true;
}

asio::awaitable<std::optional<Request>> read_request(Stream& socket) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(most_header_bytes));
  const boost::system::error_code error = co_await read_http<true>(socket, parser);
  if (error) co_return std::nullopt;
  co_return parser.release();
}

std::string head_of(unsigned status, std::string_view content_type,
                    std::optional<std::size_t> bytes, std::string_view more) {
  const std::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
  return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}{}Connection: close\r\n\r\n", status,
                     reason, content_type,
                     bytes ? fmt::format("Content-Length: {}\r\n", *bytes) : std::string(), more);
}

asio::awaitable<bool> write_all(Stream& socket, std::string_view text, Limit& limit,
                                std::chrono::seconds each) {
  while (!text.empty()) {
    limit.set(each);
    const asio::const_buffer rest(text.data(), text.size());
    const auto [error, bytes] = co_await socket.async_write_some(rest, use_nothrow_awaitable);
    if (error) co_return false;
    text.remove_prefix(bytes);
  }
  co_return true;
}

}  // namespace toprun::live
