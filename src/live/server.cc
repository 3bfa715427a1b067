#include "live/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/quietly.h"
#include "live/http.h"

namespace toprun::live {
namespace asio = boost::asio;
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

bool may_ask(Stream& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const int known = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return known == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

asio::awaitable<void> serve(std::shared_ptr<Server::State> state, std::shared_ptr<Stream> socket) {
  Limit limit(socket, question_limit);
  const std::optional<Request> request = co_await read_request(*socket);
  if (!request || !state->handler) co_return;
  limit.set(answer_limit);
  Question question{std::string(request->method_string()), std::string(request->target())};
  const Answer answer = co_await state->handler(std::move(question));
  const auto bytes = answer.more ? std::nullopt : std::optional(answer.body.size());
  std::optional<std::string> text = head_of(answer.status, answer.type, bytes) + answer.body;
  while (text) {
    const bool is_sent = co_await write_all(*socket, *text, limit, answer_limit);
    if (!is_sent || !answer.more) break;
    limit.set(part_limit);
    text = co_await answer.more();
  }
}

asio::awaitable<void> receive(std::shared_ptr<Server::State> state) {
  while (state->handler) {
    auto socket = std::make_shared<Stream>(state->io);
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
