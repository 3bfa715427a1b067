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
  std::string method;  // "GET"
  std::string target;  // "/report"
};

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string_view type = "application/json";
  // What follows the body, until there is no more; the connection ends with it.
  std::function<boost::asio::awaitable<std::optional<std::string>>()> more = {};
};

inline constexpr std::size_t most_visitors =
    64;  // at a time; for a further one the oldest that is silent goes
// From the connection to the end of its question; for the answer; for each part of it to be read.
inline constexpr std::chrono::seconds question_limit{5};
inline constexpr std::chrono::seconds answer_limit{15};
// For the next part of an answer that goes on.
inline constexpr std::chrono::seconds part_limit{120};
// After a visitor that could not be taken in: no descriptor was left.
inline constexpr std::chrono::seconds before_next_visitor{1};

// Answers questions by HTTP/1.1 on a Unix socket, one for each connection; only this user and root
// may ask. What takes time belongs on a pool: the handler runs on the event loop.
class Server {
 public:
  using Handler = std::function<boost::asio::awaitable<Answer>(Question)>;

  // At the first free name of this process in the folder (observe/live/folder.h). The handler is
  // not called after the server is gone.
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
  std::shared_ptr<State> state_;  // with the visitors
};

}  // namespace toprun::live
