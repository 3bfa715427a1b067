#include "live/client.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/clock.h"
#include "live/http.h"

namespace toprun::live {
namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

struct Exchange {
  bool connected = false;
  bool is_over = false;
  boost::system::error_code error;
  http::response_parser<http::string_body> answer;
};

asio::awaitable<void> exchange(std::shared_ptr<Stream> socket, std::string path, Question question,
                               std::chrono::seconds each, Exchange& result) {
  const Stream::endpoint_type there = asio::local::stream_protocol::endpoint(path);
  const auto [refused] = co_await socket->async_connect(there, quietly);
  result.error = refused;
  result.connected = !refused;
  if (!refused) {
    Limit limit(socket, each);
    const std::string request =
        fmt::format("{} {} HTTP/1.1\r\nHost: toprun\r\n\r\n", question.method, question.target);
    result.answer.body_limit(most_answer_bytes);
    const bool is_sent = co_await write_all(*socket, request, limit, each);
    result.error = asio::error::broken_pipe;
    if (is_sent) result.error = co_await read_message<false>(*socket, result.answer);
  }
  result.is_over = true;
}

}  // namespace

Result<std::optional<Answer>> ask(const std::filesystem::path& path, const Question& question,
                                  std::chrono::milliseconds limit) {
  asio::io_context io;
  const auto socket = std::make_shared<Stream>(io);
  Exchange result;
  const auto each = std::chrono::ceil<std::chrono::seconds>(limit);
  asio::co_spawn(io, exchange(socket, path.string(), question, each, result), asio::detached);
  io.run_for(limit);
  const std::string what = fmt::format("no answer from the job at {}", path.string());
  if (!result.is_over) return fail(what, "after " + duration_text(limit));
  if (!result.connected) return std::nullopt;
  if (result.error) return fail(what, result.error.message());
  auto& response = result.answer.get();
  return Answer{response.result_int(), std::move(response.body())};
}

}  // namespace toprun::live
