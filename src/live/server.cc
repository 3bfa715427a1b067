#include "live/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace toprun::live {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Unix = asio::local::stream_protocol;

struct Server::State {
  State(asio::io_context& context, std::filesystem::path at, Handler answers)
      : io(context), path(std::move(at)), handler(std::move(answers)), acceptor(context) {}

  asio::io_context& io;
  const std::filesystem::path path;
  Handler handler;  // empty: the server is gone
  Unix::acceptor acceptor;
  std::size_t visitors = 0;
};

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr unsigned http_1_1 = 11;

bool may_ask(Unix::socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const int known = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return known == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

// Closes the socket unless it is moved on before.
class Limit {
 public:
  Limit(const std::shared_ptr<Unix::socket>& socket, std::chrono::seconds limit)
      : timer_(socket->get_executor()), socket_(socket) {
    set(limit);
  }
  void set(std::chrono::seconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([socket = socket_](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) socket->close(ignored);
    });
  }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<Unix::socket> socket_;
};

asio::awaitable<void> serve(std::shared_ptr<Server::State> state,
                            std::shared_ptr<Unix::socket> socket) {
  Limit limit(socket, question_limit);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(most_header_bytes));
  beast::flat_buffer buffer(2 * most_header_bytes);
  const auto [unread, bytes] = co_await http::async_read(*socket, buffer, parser, quietly);
  if (unread || !state->handler) co_return;
  limit.set(answer_limit);
  const auto& request = parser.get();
  Question question{std::string(request.method_string().data(), request.method_string().size()),
                    std::string(request.target().data(), request.target().size())};
  Answer answer = co_await state->handler(std::move(question));
  const std::string_view type = answer.type;
  http::response<http::string_body> response(static_cast<http::status>(answer.status), http_1_1,
                                             std::move(answer.body));
  response.set(http::field::content_type, type);
  response.keep_alive(false);
  response.prepare_payload();
  co_await http::async_write(*socket, response, quietly);
}

asio::awaitable<void> receive(std::shared_ptr<Server::State> state) {
  while (state->handler) {
    auto socket = std::make_shared<Unix::socket>(state->io);
    const auto [refused] = co_await state->acceptor.async_accept(*socket, quietly);
    if (refused || !state->handler) co_return;
    if (state->visitors == most_visitors || !may_ask(*socket)) continue;
    ++state->visitors;
    asio::co_spawn(state->io, serve(state, socket),
                   [state](const std::exception_ptr&) { --state->visitors; });
  }
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& io, std::filesystem::path path,
                                               Handler handler) {
  const auto state = std::make_shared<State>(io, std::move(path), std::move(handler));
  ::unlink(state->path.c_str());
  boost::system::error_code error;
  state->acceptor.open(Unix(), error);
  if (!error) state->acceptor.bind(Unix::endpoint(state->path.string()), error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail("cannot listen at " + state->path.string(), error.message());
  asio::co_spawn(io, receive(state), asio::detached);
  return std::unique_ptr<Server>(new Server(state));
}

Server::~Server() {
  state_->handler = {};
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  ::unlink(state_->path.c_str());
}

}  // namespace toprun::live
