#include "observe/live/client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "observe/live/http.h"

namespace toprun::live {
namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

std::unexpected<Error> no_answer(const std::filesystem::path& path, std::string why) {
  return fail(fmt::format("no answer from the job at {}", path.string()), std::move(why));
}

std::string request_text(const Question& question) {
  return fmt::format("{} {} HTTP/1.1\r\nHost: toprun\r\n\r\n", question.method, question.target);
}

// The process that listens, by the kernel.
Result<pid_t> listener(int socket, const std::filesystem::path& path) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return no_answer(path, errno_text(errno));
  }
  if (peer.uid == ::geteuid()) return peer.pid;
  return no_answer(path, fmt::format("a program of user {} listens there", peer.uid));
}

struct Exchange {
  bool connected = false;
  Result<pid_t> pid = 0;
  bool is_over = false;
  boost::system::error_code error;
  http::response_parser<http::string_body> answer;
};

asio::awaitable<void> exchange(std::shared_ptr<Stream> socket, std::string path, Question question,
                               std::chrono::seconds each, Exchange& result) {
  const Stream::endpoint_type there = asio::local::stream_protocol::endpoint(path);
  const auto [refused] = co_await socket->async_connect(there, use_nothrow_awaitable);
  result.error = refused;
  result.connected = !refused;
  if (!refused) {
    result.pid = listener(socket->native_handle(), path);
    if (!result.pid) {
      result.is_over = true;
      co_return;
    }
    Limit limit(socket, each);
    const std::string request = request_text(question);
    result.answer.body_limit(most_answer_bytes);
    const bool is_sent = co_await write_all(*socket, request, limit, each);
    result.error = asio::error::broken_pipe;
    if (is_sent) result.error = co_await read_http<false>(*socket, result.answer);
  }
  result.is_over = true;
}

// nullopt: no process listens there.
std::optional<Fd> connected(const std::filesystem::path& path, std::chrono::milliseconds limit) {
  const asio::local::stream_protocol::endpoint there(path.string());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval each{limit.count() / 1'000, limit.count() % 1'000 * 1'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &each, sizeof each);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &each, sizeof each);
  const auto size = static_cast<socklen_t>(there.size());
  if (::connect(socket.get(), there.data(), size) != 0) return std::nullopt;
  return socket;
}

// A job that ends closes its connections first.
bool has_ended_meanwhile(const std::filesystem::path& path, std::chrono::milliseconds limit) {
  return !connected(path, limit);
}

// The lines before the body, the empty one included; less if the other end says no more.
std::string head_from(const Fd& socket) {
  std::string head;
  for (char byte = 0; head.size() < most_header_bytes && !head.ends_with("\r\n\r\n");) {
    const ssize_t n = ::recv(socket.get(), &byte, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    head += byte;
  }
  return head;
}

}  // namespace

Result<std::optional<Reply>> ask(const std::filesystem::path& path, const Question& question,
                                 std::chrono::milliseconds limit) {
  asio::io_context io;
  const auto socket = std::make_shared<Stream>(io);
  Exchange result;
  const auto each = std::chrono::ceil<std::chrono::seconds>(limit);
  asio::co_spawn(io, exchange(socket, path.string(), question, each, result), asio::detached);
  io.run_for(limit);
  if (!result.is_over) {
    return no_answer(path, "after " + duration_text(limit));
  }
  if (!result.connected) return std::nullopt;
  if (!result.pid) return std::unexpected(result.pid.error());
  if (result.error) {
    if (has_ended_meanwhile(path, limit)) return std::nullopt;
    return no_answer(path, result.error.message());
  }
  auto& response = result.answer.get();
  return Reply{response.result_int(), std::move(response.body()), *result.pid};
}

Result<std::optional<Fd>> follow(const std::filesystem::path& path, const Question& question,
                                 std::chrono::milliseconds limit) {
  std::optional<Fd> socket = connected(path, limit);
  if (!socket) return std::nullopt;
  TRY(listener(socket->get(), path));
  const std::string request = request_text(question);
  const ssize_t sent = ::send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL);
  const std::string head = head_from(*socket);
  if (sent < 0 || !head.ends_with("\r\n\r\n")) {
    if (has_ended_meanwhile(path, limit)) return std::nullopt;
    return no_answer(path, "after " + duration_text(limit));
  }
  if (!head.starts_with("HTTP/1.1 200 ")) {
    return no_answer(path, head.substr(0, head.find('\r')));
  }
  const timeval unlimited{};
  ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &unlimited, sizeof unlimited);
  return socket;
}

}  // namespace toprun::live
