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

// The HTTP/1.1 of those that serve it: one request for each connection.
namespace toprun::live {

using Stream = HttpStream;
using Request = boost::beast::http::request<boost::beast::http::empty_body>;

inline constexpr std::size_t most_header_bytes = 8 * 1024;

// Closes the socket unless it is moved on before.
class Limit {
 public:
  Limit(const std::shared_ptr<Stream>& socket, std::chrono::seconds limit);
  void set(std::chrono::seconds limit);

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<Stream> socket_;
};

// Connections whose request has not come yet. Where there are too many, the oldest goes: a client
// that asks at once is answered, however many others say nothing.
class Silent {
 public:
  // One of them, as long as this lives.
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

  // False: there is none.
  bool close_oldest();

 private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Stream>> sockets_;  // by their coming
};

// nullopt: no request came, or one that is too long or has a body.
boost::asio::awaitable<std::optional<Request>> read_request(Stream& socket);

// The lines before an answer's body, the empty one included; the connection ends with the answer.
// `more` are further lines, each with "\r\n". Without `bytes` the body goes on until then.
std::string head_of(unsigned status, std::string_view content_type,
                    std::optional<std::size_t> bytes, std::string_view more = {});

// All of it, if there is progress within each `limit`.
boost::asio::awaitable<bool> write_all(Stream& socket, std::string_view text, Limit& limit,
                                       std::chrono::seconds each);

}  // namespace toprun::live
