#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/text/error.h"

namespace toprun::live {

struct Question {
  std::string method;       // "GET"
  std::string target;       // "/report"
  std::string accept = {};  // the formats that the client reads; empty: it does not say
};

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string_view type = "application/json";
  // Each call produces a further part of the answer, after its body. After the last part, the
  // connection ends.
  std::function<boost::asio::awaitable<std::optional<std::string>>()> more = {};
};

inline constexpr std::size_t most_visitors = 64;  // connections at a time; for one more, the server
                                                  // closes the oldest connection without a request

// How long a client may take to send its request.
inline constexpr std::chrono::seconds question_limit{5};
// How long the handler may take to produce an answer. Also how long a client may pause while it
// reads the answer.
inline constexpr std::chrono::seconds answer_limit{15};
// How long the server waits for the next part of an answer (Answer::more).
inline constexpr std::chrono::seconds part_limit{120};
// If no file descriptor was free, the server accepts the next connection after this delay.
inline constexpr std::chrono::seconds before_next_visitor{1};

// Answers requests by HTTP/1.1 on a Unix socket, one request per connection. Only this user and
// root may connect. The handler runs on the event loop, so slow work must run on a thread pool.
class Server {
 public:
  using Handler = std::function<boost::asio::awaitable<Answer>(Question)>;

  // Listens on a socket in `folder`, with the first free name for this process
  // (observe/live/folder.h). The handler is not called after the server is destroyed.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& io,
                                                const std::filesystem::path& folder,
                                                Handler handler);
  ~Server();  // removes the socket
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::filesystem::path& path() const;

  struct State;

 private:
  explicit Server(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // shared with the connections
};

}  // namespace toprun::live
