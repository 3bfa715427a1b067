#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include "base/net/http.h"

// The HTTP/1.1 code that all servers share: one request per connection.
namespace toprun::live {

using Stream = HttpStream;
using Request = boost::beast::http::request<boost::beast::http::empty_body>;

inline constexpr std::size_t most_header_bytes = 8 * 1024;

// Closes the socket at the deadline. set() may move the deadline before that.
class Limit {
 public:
  Limit(const std::shared_ptr<Stream>& socket, std::chrono::seconds limit);
  void set(std::chrono::seconds limit);

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<Stream> socket_;
};

// The connections that have not sent their request yet. If there are too many connections, the
// server calls close_oldest(). So clients that send no request cannot block a client that sends its
// request at once.
class Silent {
 public:
  // While this object exists, a connection counts as one that has sent no request.
  class Stay {
   public:
    Stay(Silent& all, std::shared_ptr<Stream> socket);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    Silent& all_;
    const std::uint64_t number_;
  };

  // Closes the oldest registered connection. Returns false if no connection is registered.
  bool close_oldest();

 private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Stream>> sockets_;  // by order of arrival
};

// Reads a request. nullopt: no request arrived, or the request is too long or has a body.
boost::asio::awaitable<std::optional<Request>> read_request(Stream& socket);

// Returns an answer's status line, its headers and the empty line after them. The headers say that
// the connection ends after the answer. `more`: further headers, each with "\r\n". If `bytes` is
// nullopt, the end of the connection marks the end of the body.
std::string head_of(unsigned status, std::string_view content_type,
                    std::optional<std::size_t> bytes, std::string_view more = {});

// Writes the whole text. If no byte can be written for the time `each`, `limit` closes the socket
// and write_all() returns false.
boost::asio::awaitable<bool> write_all(Stream& socket, std::string_view text, Limit& limit,
                                       std::chrono::seconds each);

}  // namespace toprun::live
