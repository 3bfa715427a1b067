#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/net/address.h"
#include "base/text/error.h"

// The page of a running job: its files, the job's picture as server-sent events, further pages.
namespace toprun::web {

// What a browser gets of a job: a JSON value each, which change at different speeds.
enum class Part : std::uint8_t { job, nodes, figures };
inline constexpr std::array<std::string_view, 3> part_names = {"job", "nodes", "figures"};

using Text = std::shared_ptr<const std::string>;

struct Page {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

// The code that knows the job. Called on the event loop, where nothing may block.
class Source {
 public:
  virtual ~Source() = default;
  // The newest text of a part, on one line; null: there is none yet.
  virtual Text text(Part part) = 0;
  // The first browser has come, or the last one has gone.
  virtual void looked_at(bool by_somebody) = 0;
  // A page beside the server's own ("/metrics"), for those who have the token; nullopt: there is
  // none at this path.
  virtual boost::asio::awaitable<std::optional<Page>> page(std::string path) = 0;
};

// Where it listens.
struct ListenAddress {
  hosts::Address address = hosts::loopback();
  int port = 0;            // the kernel chooses
  std::string token = {};  // empty: a new one
};

// Letters, digits, - and _; of more than 128 bits if they are random.
bool is_good_token(std::string_view token);

inline constexpr std::size_t most_browsers = 64;      // that follow the job; further ones get 503
inline constexpr std::size_t most_visitors = 256;     // connections; for a further one the oldest
                                                      // that is silent goes, else it waits
inline constexpr int send_buffer_bytes = 256 * 1024;  // what the kernel keeps for each of them
inline constexpr std::chrono::seconds request_limit{5};  // from the connection to its request's end
inline constexpr std::chrono::seconds page_limit{15};    // for a page to be made
inline constexpr std::chrono::seconds unread_limit{20};  // a browser that takes no byte is closed
inline constexpr std::chrono::seconds heartbeat{10};     // without an event a comment is sent
inline constexpr std::chrono::seconds farewell_limit{1};  // for the last state to be sent

// HTTP/1.1 on TCP, one request for each connection. The page's own files tell nothing of the job;
// all else is for those who send `Authorization: Bearer TOKEN`. A browser gets the newest text of
// each part when it can take it: nothing is queued for it beyond the one that it is reading.
class Server {
 public:
  // The source outlives the server.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& io,
                                                const ListenAddress& at, Source& source);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:4711/#token=…", a new token with it: what follows the # stays in the browser.
  std::string url() const;
  // The source has another text for this part.
  void changed(Part part);
  // Sends all browsers the last state, within farewell_limit, and closes.
  boost::asio::awaitable<void> finish();

  struct State;

 private:
  explicit Server(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // with the visitors
};

}  // namespace toprun::web
