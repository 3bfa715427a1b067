#include "observe/live/server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/timer.h"
#include "base/os/trust.h"
#include "observe/live/folder.h"
#include "observe/live/http.h"

namespace toprun::live {
namespace asio = boost::asio;
namespace fs = std::filesystem;
using Unix = asio::local::stream_protocol;

struct Server::State {
  State(asio::io_context& context, Handler answers)
      : io(context), handler(std::move(answers)), acceptor(context), pause(context) {}

  asio::io_context& io;
  fs::path path;
  Handler handler;  // empty: the server is gone
  Unix::acceptor acceptor;
  std::size_t visitors = 0;
  Silent silent;
  asio::steady_timer pause;
};

namespace {

constexpr std::size_t random_letters = 4;  // of a name that is there for a moment

bool may_ask(Stream& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const int known = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return known == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

asio::awaitable<void> serve(std::shared_ptr<Server::State> state, std::shared_ptr<Stream> socket) {
  Limit limit(socket, question_limit);
  std::optional<Request> request;
  {
    const Silent::Stay silent(state->silent, socket);
    request = co_await read_request(*socket);
  }
  if (!request || !state->handler) co_return;
  limit.set(answer_limit);
  Question question{std::string(request->method_string()), std::string(request->target()),
                    std::string((*request)[boost::beast::http::field::accept])};
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
    const auto [refused] = co_await state->acceptor.async_accept(*socket, use_nothrow_awaitable);
    if (!state->handler || !state->acceptor.is_open()) co_return;
    if (refused) {
      state->pause.expires_after(before_next_visitor);
      co_await state->pause.async_wait(use_nothrow_awaitable);
      continue;
    }
    if (!may_ask(*socket)) continue;
    if (state->visitors >= most_visitors && !state->silent.close_oldest()) continue;
    ++state->visitors;
    asio::co_spawn(state->io, serve(state, socket),
                   [state](const std::exception_ptr&) { --state->visitors; });
  }
}

std::unexpected<Error> cannot_listen(const fs::path& folder, std::string why) {
  return fail("cannot listen in " + folder.string(), std::move(why));
}

// A socket gets its name when it listens: one that does not is of a job that was killed.
Result<fs::path> name_it(const fs::path& unnamed, const fs::path& folder) {
  for (int number = 1; number <= most_of_one_pid; ++number) {
    fs::path path = socket_in(folder, ::getpid(), number);
    const auto take = [&] { return ::link(unnamed.c_str(), path.c_str()) == 0; };
    if (take() || (errno == EEXIST && remove_if_dead(path) && take())) return path;
    if (errno != EEXIST) return cannot_listen(folder, errno_text(errno));
  }
  return cannot_listen(folder, fmt::format("{} jobs of process id {} have their sockets there",
                                           most_of_one_pid, ::getpid()));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& io, const fs::path& folder,
                                               Handler handler) {
  const auto state = std::make_shared<State>(io, std::move(handler));
  const fs::path unnamed = folder / fmt::format("{}.{}", ::getpid(), random_name(random_letters));
  boost::system::error_code error;
  state->acceptor.open(Unix(), error);
  if (!error) state->acceptor.bind(Unix::endpoint(unnamed.string()), error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(folder, error.message());
  auto path = name_it(unnamed, folder);
  ::unlink(unnamed.c_str());
  if (!path) return std::unexpected(std::move(path.error()));
  state->path = *std::move(path);
  asio::co_spawn(io, receive(state), asio::detached);
  return std::unique_ptr<Server>(new Server(state));
}

const fs::path& Server::path() const {
  return state_->path;
}

Server::~Server() {
  state_->handler = {};
  boost::system::error_code ignored;
  ::unlink(state_->path.c_str());  // as long as it listens no other process takes the name
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

}  // namespace toprun::live
