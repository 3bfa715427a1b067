#include "live/client.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/clock.h"

namespace toprun::live {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Unix = asio::local::stream_protocol;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr unsigned http_1_1 = 11;

struct Exchange {
  bool connected = false;
  bool is_over = false;
  boost::system::error_code error;
  http::response_parser<http::string_body> answer;
};

asio::awaitable<void> exchange(Unix::socket& socket, const std::string path, Question question,
                               Exchange& result) {
  const auto [refused] = co_await socket.async_connect(Unix::endpoint(path), quietly);
  result.error = refused;
  result.connected = !refused;
  if (!refused) {
    http::request<http::empty_body> request;
    request.version(http_1_1);
    request.method_string(question.method);
    request.target(question.target);
    request.set(http::field::host, "toprun");
    request.prepare_payload();
    const auto [unsent, sent_bytes] = co_await http::async_write(socket, request, quietly);
    beast::flat_buffer buffer;
    result.answer.body_limit(most_answer_bytes);
    const auto [unread, bytes] = co_await http::async_read(socket, buffer, result.answer, quietly);
    result.error = unsent ? unsent : unread;
  }
  result.is_over = true;
}

}  // namespace

Result<std::optional<Answer>> ask(const std::filesystem::path& path, const Question& question,
                                  std::chrono::milliseconds limit) {
  asio::io_context io;
  Unix::socket socket(io);
  Exchange result;
  asio::co_spawn(io, exchange(socket, path, question, result), asio::detached);
  io.run_for(limit);
  const std::string what = fmt::format("no answer from the job at {}", path.string());
  if (!result.is_over) return fail(what, "after " + duration_text(limit));
  if (!result.connected) return std::nullopt;
  if (result.error) return fail(what, result.error.message());
  auto& response = result.answer.get();
  return Answer{response.result_int(), std::move(response.body())};
}

}  // namespace toprun::live
