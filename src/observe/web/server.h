// The web server of a running job. The server sends the page's files, the job's state as
// server-sent events, and pages such as /metrics.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/net/address.h"
#include "base/text/error.h"

namespace toprun::web {

// Whether a Host field names this server: it contains an IP address, "localhost", or one of
// `names`. Every port is accepted, because a tunnel has its own port. Other names are refused,
// because a foreign page may make its own name resolve to this server's address (DNS rebinding).
bool is_known_host(std::string_view field, std::span<const std::string> names);

// Whether an Authorization field is "Bearer TOKEN". The comparison takes equally long for all wrong
// tokens of the right length.
bool has_token(std::string_view field, std::string_view token);

// Returns the path in a request's target: "/metrics" in "/metrics?x=1".
std::string_view path_of(std::string_view target);

// The parts of a job's state for browsers. Each part is one JSON value. The parts change at
// different rates.
enum class Part : std::uint8_t { job, nodes, figures };
inline constexpr std::array<std::string_view, 3> part_names = {"job", "nodes", "figures"};

using Text = std::shared_ptr<const std::string>;

struct Page {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

// The interface to the job. The functions of a Source are called on the event loop and must not
// block.
class Source {
 public:
  virtual ~Source() = default;
  // Returns the newest text of a part, on one line; null: not available yet.
  virtual Text text(Part part) = 0;
  // Called with true when the first browser has connected. Called with false when the last browser
  // has disconnected.
  virtual void looked_at(bool by_somebody) = 0;
  // Returns an additional page, such as "/metrics", for clients with the token. nullopt: no page
  // has this path. `accept`: the request's Accept field.
  virtual boost::asio::awaitable<std::optional<Page>> page(std::string path,
                                                           std::string accept) = 0;
};

// The address on which the server listens.
struct ListenAddress {
  hosts::Address address = hosts::loopback();
  int port = 0;            // 0: the kernel chooses
  std::string token = {};  // empty: the server generates a token
};

// Whether the token consists of letters, digits, - and _, and is long enough for more than 128
// random bits.
bool is_good_token(std::string_view token);

inline constexpr std::size_t most_browsers = 64;          // browsers that follow the job; further
                                                          // browsers get status 503
inline constexpr std::size_t most_visitors = 256;         // connections at a time; for one more,
                                                          // the server closes the oldest connection
                                                          // without a request; if there is no such
                                                          // connection, the new one waits
inline constexpr int send_buffer_bytes = 256 * 1024;      // kernel send buffer of each connection
inline constexpr std::chrono::seconds request_limit{5};   // from the connection to the end of the
                                                          // request
inline constexpr std::chrono::seconds page_limit{15};     // for producing a page
inline constexpr std::chrono::seconds unread_limit{20};   // a browser that reads nothing for this
                                                          // long is disconnected
inline constexpr std::chrono::seconds heartbeat{10};      // after this time without an event, the
                                                          // server sends a comment
inline constexpr std::chrono::seconds farewell_limit{1};  // for sending the last state to the
                                                          // browsers

// Answers requests by HTTP/1.1 on TCP, one request per connection. The page's own files contain
// nothing about the job. All other pages require `Authorization: Bearer TOKEN`. When a browser is
// ready to receive, it gets the newest text of each Part. Older texts are not sent.
class Server {
 public:
  // The source must outlive the server.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& io,
                                                const ListenAddress& at, Source& source);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns "http://127.0.0.1:4711/#token=…". A browser does not send the text after the #, which
  // contains the token, to any server.
  std::string url() const;
  // Must be called when the source has a new text for this part.
  void changed(Part part);
  // Sends the job's last state to all browsers, within farewell_limit, and accepts no further
  // connections.
  boost::asio::awaitable<void> finish();

  struct State;

 private:
  explicit Server(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // shared with the connections
};

}  // namespace toprun::web
