#include "observe/web/server.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/net/address.h"
#include "base/os/timer.h"
#include "base/os/trust.h"
#include "base/text/text.h"
#include "observe/live/http.h"
#include "observe/web/files.h"

namespace toprun::web {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using live::Limit;
using live::Request;
using live::Stream;
using std::chrono::steady_clock;

struct Server::State {
  State(asio::io_context& context, Source& job)
      : io(context), source(&job), acceptor(context), news(context), left(context) {}

  asio::io_context& io;
  Source* source;  // null: the server is gone
  tcp::acceptor acceptor;
  std::string host;  // in the URL
  std::vector<std::string> names;
  std::string token;
  bool is_new_token = false;
  std::array<std::uint64_t, part_names.size()> versions{};
  std::array<Text, part_names.size()> events{};  // of these versions; null: made when it is needed
  std::size_t browsers = 0;
  std::size_t visitors = 0;
  live::Silent silent;
  bool finishing = false;
  asio::steady_timer news;  // its end or cancellation wakes all browsers
  asio::steady_timer left;  // its cancellation: a visitor has gone
};

namespace {

constexpr std::string_view scheme = "bearer ";

// "host" of "host:80", "::1" of "[::1]:80"; empty: it is neither.
std::string_view host_of(std::string_view field) {
  if (field.starts_with('[')) {
    const auto end = field.find(']');
    if (end == field.npos) return {};
    const std::string_view behind = field.substr(end + 1);
    return behind.empty() || behind.starts_with(':') ? field.substr(1, end - 1)
                                                     : std::string_view();
  }
  return field.substr(0, field.find(':'));
}

using State = Server::State;
using Versions = std::array<std::uint64_t, part_names.size()>;

constexpr std::size_t token_letters = 32;  // of 36: 165 bits

// Nothing from elsewhere, nothing inline, no frame around it; nothing is kept.
constexpr std::string_view guards =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
    "'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

Page refusal(unsigned status, std::string_view words) {
  return {status, "text/plain; charset=utf-8", fmt::format("{}\n", words)};
}

std::string_view more_of(unsigned status) {
  switch (status) {
    case 401:
      return "WWW-Authenticate: Bearer\r\n";
    case 405:
      return "Allow: GET, HEAD\r\n";
    case 503:
      return "Retry-After: 5\r\n";
    default:
      return {};
  }
}

asio::awaitable<void> send(Stream& socket, const Page& page, bool with_body, Limit& limit) {
  std::string text = live::head_of(page.status, page.content_type, page.body.size(),
                                   fmt::format("{}{}", guards, more_of(page.status)));
  if (with_body) text += page.body;
  co_await live::write_all(socket, text, limit, unread_limit);
}

// What keeps a request from being answered.
std::optional<Page> objection(const State& state, const Request& request) {
  if (!is_known_host(request[http::field::host], state.names)) {
    return refusal(421, "this server does not have that name: use the server's address");
  }
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return refusal(405, "only GET and HEAD");
  }
  return std::nullopt;
}

// One message, shared by all browsers; null: the part has no text yet.
Text event_of(State& state, std::size_t part) {
  Text& event = state.events[part];
  if (event) return event;
  const Text text = state.source->text(static_cast<Part>(part));
  if (!text) return nullptr;
  event = std::make_shared<const std::string>(
      fmt::format("event: {}\ndata: {}\n\n", part_names[part], *text));
  return event;
}

// The first part that this browser does not have in its newest version.
Text next_event(State& state, Versions& sent) {
  for (std::size_t part = 0; part < sent.size(); ++part) {
    if (sent[part] == state.versions[part]) continue;
    sent[part] = state.versions[part];
    if (Text event = event_of(state, part)) return event;
  }
  return nullptr;
}

asio::awaitable<void> follow(State& state, Stream& socket, Limit& limit) {
  Versions sent{};
  const std::string head = live::head_of(200, "text/event-stream", std::nullopt, guards);
  bool reads = co_await live::write_all(socket, head, limit, unread_limit);
  auto written = steady_clock::now();
  while (reads && state.source != nullptr) {
    const Text event = next_event(state, sent);
    if (event) {
      reads = co_await live::write_all(socket, *event, limit, unread_limit);
      written = steady_clock::now();
    } else if (state.finishing) {
      co_return;
    } else if (steady_clock::now() - written >= heartbeat) {
      reads = co_await live::write_all(socket, ":\n\n", limit, unread_limit);
      written = steady_clock::now();
    } else {
      limit.set(unread_limit);
      if (state.news.expiry() <= steady_clock::now()) state.news.expires_after(heartbeat);
      co_await state.news.async_wait(use_nothrow_awaitable);
    }
  }
}

// One more browser for as long as this lives.
class Counted {
 public:
  explicit Counted(State& state) : state_(state) {
    if (++state_.browsers == 1) state_.source->looked_at(true);
  }
  ~Counted() {
    if (--state_.browsers == 0 && state_.source != nullptr) state_.source->looked_at(false);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  State& state_;
};

asio::awaitable<Page> page_of(State& state, const Request& request) {
  const std::string path(path_of(std::string_view(request.target())));
  if (const File* const file = find_file(path)) {
    co_return Page{200, std::string(file->content_type), std::string(file->text)};
  }
  if (!has_token(request[http::field::authorization], state.token)) {
    co_return refusal(401,
                      "the token is missing or wrong: open the whole address that toprun printed, "
                      "with #token=... at "
                      "its end, or send the header Authorization: Bearer TOKEN");
  }
  std::optional<Page> page =
      co_await state.source->page(path, std::string(request[http::field::accept]));
  co_return page ? *std::move(page) : refusal(404, "there is no such page");
}

asio::awaitable<void> serve(std::shared_ptr<State> state, std::shared_ptr<Stream> socket) {
  Limit limit(socket, request_limit);
  std::optional<Request> request;
  {
    const live::Silent::Stay silent(state->silent, socket);
    request = co_await live::read_request(*socket);
  }
  if (!request || state->source == nullptr) co_return;
  limit.set(page_limit);
  const bool with_body = request->method() != http::verb::head;
  if (const std::optional<Page> refused = objection(*state, *request)) {
    co_return co_await send(*socket, *refused, with_body, limit);
  }
  const bool follows = with_body && request->target() == "/events" &&
                       has_token((*request)[http::field::authorization], state->token);
  if (!follows) {
    const Page page = co_await page_of(*state, *request);
    co_return co_await send(*socket, page, with_body, limit);
  }
  if (state->browsers == most_browsers) {
    const Page busy = refusal(503, "too many browsers follow this job");
    co_return co_await send(*socket, busy, with_body, limit);
  }
  const Counted one_more(*state);
  co_await follow(*state, *socket, limit);
}

asio::awaitable<void> receive(std::shared_ptr<State> state) {
  while (state->source != nullptr) {
    if (state->visitors >= most_visitors && !state->silent.close_oldest()) {
      state->left.expires_at(steady_clock::time_point::max());
      co_await state->left.async_wait(use_nothrow_awaitable);
      continue;
    }
    auto socket = std::make_shared<Stream>(state->io);
    const auto [refused] = co_await state->acceptor.async_accept(*socket, use_nothrow_awaitable);
    if (state->source == nullptr || !state->acceptor.is_open()) co_return;
    if (refused) {  // no descriptor is left, or it has gone again
      state->left.expires_after(std::chrono::seconds(1));
      co_await state->left.async_wait(use_nothrow_awaitable);
      continue;
    }
    boost::system::error_code ignored;
    socket->set_option(asio::socket_base::send_buffer_size(send_buffer_bytes), ignored);
    ++state->visitors;
    asio::co_spawn(state->io, serve(state, socket), [state](const std::exception_ptr&) {
      --state->visitors;
      state->left.cancel();
    });
  }
}

tcp::endpoint endpoint_of(const ListenAddress& at) {
  const sockaddr_storage address = at.address.with_port(at.port);
  tcp::endpoint endpoint;
  endpoint.resize(at.address.length());
  std::memcpy(endpoint.data(), &address, at.address.length());
  return endpoint;
}

std::string host_in_url(const tcp::endpoint& endpoint, const hosts::Address& address) {
  if (endpoint.address().is_unspecified()) return hosts::host_name();
  return address.is_v4() ? address.text() : fmt::format("[{}]", address.text());
}

Error not_there(const ListenAddress& at, const boost::system::error_code& error) {
  const auto holder =
      error == asio::error::address_in_use ? hosts::holder_of_port(at.port) : std::nullopt;
  return {fmt::format("cannot serve the job's page at {} port {}", at.address.text(), at.port),
          holder ? holder->text() + " listens there" : error.message(),
          "--web without a port chooses a free port"};
}

}  // namespace

bool is_known_host(std::string_view field, std::span<const std::string> names) {
  const std::string host = lower(host_of(field));
  if (host.empty()) return false;
  if (host == "localhost" || hosts::Address::parse(host)) return true;
  return std::ranges::any_of(names, [&](const std::string& name) { return lower(name) == host; });
}

bool has_token(std::string_view field, std::string_view token) {
  if (lower(field.substr(0, scheme.size())) != scheme) return false;
  field.remove_prefix(scheme.size());
  return field.size() == token.size() && !token.empty() &&
         ::sodium_memcmp(field.data(), token.data(), token.size()) == 0;
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

bool is_good_token(std::string_view token) {
  constexpr std::size_t fewest_letters = 22;  // of 64: 132 bits
  constexpr std::size_t most_letters = 256;
  const auto is_letter = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  };
  return token.size() >= fewest_letters && token.size() <= most_letters &&
         std::ranges::all_of(token, is_letter);
}

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& io, const ListenAddress& at,
                                               Source& source) {
  const auto state = std::make_shared<State>(io, source);
  const tcp::endpoint requested = endpoint_of(at);
  boost::system::error_code error;
  state->acceptor.open(requested.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) state->acceptor.bind(requested, error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return std::unexpected(not_there(at, error));
  state->host = host_in_url(requested, at.address);
  state->names = {hosts::host_name()};
  state->is_new_token = at.token.empty();
  state->token = state->is_new_token ? random_name(token_letters) : at.token;
  if (state->token.empty()) return fail_errno("cannot make a token for the job's page");
  state->versions.fill(1);
  asio::co_spawn(io, receive(state), asio::detached);
  return std::unique_ptr<Server>(new Server(state));
}

Server::~Server() {
  state_->source = nullptr;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->news.cancel();
  state_->left.cancel();
}

std::string Server::url() const {
  boost::system::error_code ignored;
  return fmt::format("http://{}:{}/{}", state_->host,
                     state_->acceptor.local_endpoint(ignored).port(),
                     state_->is_new_token ? "#token=" + state_->token : "");
}

void Server::changed(Part part) {
  const auto index = static_cast<std::size_t>(part);
  ++state_->versions[index];
  state_->events[index] = nullptr;
  state_->news.cancel();
}

asio::awaitable<void> Server::finish() {
  const auto state = state_;
  boost::system::error_code ignored;
  state->acceptor.close(ignored);
  state->finishing = true;
  state->news.cancel();
  const auto until = steady_clock::now() + farewell_limit;
  while (state->browsers > 0 && steady_clock::now() < until) {
    state->left.expires_at(until);
    co_await state->left.async_wait(use_nothrow_awaitable);
  }
}

}  // namespace toprun::web
