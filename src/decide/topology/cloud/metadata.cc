#include "decide/topology/cloud/metadata.h"

#include <memory>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/net/http.h"
#include "base/os/timer.h"
#include "base/text/text.h"

namespace toprun::topology {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace {

using Centiseconds = std::chrono::duration<std::int64_t, std::centi>;
using HttpAnswer = http::response_parser<http::string_body>;

std::string text_of(const tcp::endpoint& server) {
  const std::string address = server.address().to_string();
  return server.port() == 80 ? address : fmt::format("{}:{}", address, server.port());
}

std::string request_text(const Question& question, const tcp::endpoint& server) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", question.put ? "PUT" : "GET",
                                 question.path, text_of(server));
  for (const auto& [name, value] : question.headers) text += name + ": " + value + "\r\n";
  if (question.put) text += "Content-Length: 0\r\n";
  return text + "Connection: close\r\n\r\n";
}

std::string text_of_error(const beast::error_code& error) {
  if (error == http::error::body_limit) {
    return fmt::format("the answer is longer than {} KiB", max_metadata_body_bytes >> 10);
  }
  if (error == http::error::header_limit) {
    return fmt::format("the answer's header is longer than {} KiB",
                       max_metadata_header_bytes >> 10);
  }
  if (error == http::error::end_of_stream) return "the connection was closed without an answer";
  if (error == http::error::partial_message) return "the answer is incomplete";
  const bool of_http =
      error.category() == http::make_error_code(http::error::end_of_stream).category();
  return of_http ? "the server does not use HTTP" : lower(error.message());
}

// One request to one server, with descriptions of its failures.
class Query {
 public:
  Query(tcp::endpoint server, Question question, SteadyTime deadline)
      : server_(server), question_(std::move(question)), deadline_(deadline) {}

  asio::awaitable<Result<std::optional<std::string>>> run() {
    if (steady_clock::now() >= deadline_)
      co_return failure("no time was left to ask the metadata server");
    const auto executor = co_await asio::this_coro::executor;
    const auto socket = std::make_shared<HttpStream>(executor);
    asio::steady_timer limit(executor, deadline_);
    limit.async_wait([socket](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) socket->close(ignored);
    });
    HttpAnswer answer;
    const beast::error_code error = co_await exchange(*socket, answer);
    if (error && steady_clock::now() >= deadline_) {
      const auto waited = std::chrono::round<Centiseconds>(deadline_ - began_);
      co_return failure("no answer within " + duration_text(waited));
    }
    if (error) co_return failure(text_of_error(error));
    co_return body_of(answer);
  }

 private:
  asio::awaitable<beast::error_code> exchange(HttpStream& socket, HttpAnswer& answer) {
    const HttpStream::endpoint_type there = server_;
    const auto [refused] = co_await socket.async_connect(there, use_nothrow_awaitable);
    if (refused) co_return refused;
    const std::string request = request_text(question_, server_);
    const auto [unsent, bytes] =
        co_await asio::async_write(socket, asio::buffer(request), use_nothrow_awaitable);
    if (unsent) co_return unsent;
    answer.header_limit(static_cast<std::uint32_t>(max_metadata_header_bytes));
    answer.body_limit(max_metadata_body_bytes);
    co_return co_await read_http<false>(socket, answer);
  }

  Result<std::optional<std::string>> body_of(HttpAnswer& answer) const {
    const unsigned status = answer.get().result_int();
    if (status == 200) return std::move(answer.get().body());
    if (status == 404) return std::nullopt;
    const auto name = http::obsolete_reason(answer.get().result());
    return failure(
        fmt::format("it answered {} {}", status, std::string_view(name.data(), name.size())));
  }

  std::unexpected<Error> failure(std::string why) const {
    return fail(fmt::format("metadata server {}: {} {}", text_of(server_),
                            question_.put ? "PUT" : "GET", question_.path),
                std::move(why));
  }

  const tcp::endpoint server_;
  const Question question_;
  const SteadyTime began_ = steady_clock::now();
  const SteadyTime deadline_;
};

}  // namespace

tcp::endpoint metadata_server() {
  return {asio::ip::make_address_v4("169.254.169.254"), 80};
}

asio::awaitable<Result<std::optional<std::string>>> ask(tcp::endpoint server, Question question,
                                                        SteadyTime deadline) {
  Query conversation(server, std::move(question), deadline);
  auto answer = co_await conversation.run();
  co_return answer;
}

}  // namespace toprun::topology
