#include "rendezvous/channel.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.h"
#include "rendezvous/preamble.h"

namespace toprun::rendezvous {
namespace asio = boost::asio;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t length_bytes = 4;
constexpr std::size_t overhead = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;

// Limits for one read. It is no larger than expected, because a root has thousands of links.
constexpr std::size_t least_read_bytes = 512;
constexpr std::size_t most_read_bytes = 16'384;

using Key = std::array<unsigned char, crypto_secretstream_xchacha20poly1305_KEYBYTES>;

Key derive(std::string_view secret, std::string_view root_line, std::string_view member_line,
           std::string_view direction) {
  Key key{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, key.size());
  for (const std::string_view part : {secret, root_line, member_line, direction}) {
    const std::uint64_t size = part.size();  // makes the hash depend on the division
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  }
  crypto_generichash_final(&state, key.data(), key.size());
  return key;
}

std::string reason_of(const boost::system::error_code& error) {
  // Unread bytes turn a close into a reset.
  const bool ended = error == asio::error::eof || error == asio::error::connection_reset ||
                     error == asio::error::broken_pipe;
  if (ended) return "the connection was closed";
  if (error == asio::error::operation_aborted) return "time ran out";
  return error.message();
}

}  // namespace

struct Channel::Streams {
  Key tx_key{};
  Key rx_key{};
  crypto_secretstream_xchacha20poly1305_state tx{};
  crypto_secretstream_xchacha20poly1305_state rx{};
};

Channel::Channel(asio::ip::tcp::socket socket, Patience patience)
    : socket_(std::move(socket)),
      patience_(patience),
      deadline_(socket_.get_executor()),
      outgoing_(socket_.get_executor()),
      streams_(std::make_unique<Streams>()) {
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  local_ = socket_.local_endpoint(ignored);
  remote_ = socket_.remote_endpoint(ignored);
  outgoing_.expires_at(std::chrono::steady_clock::time_point::max());
}

Channel::~Channel() {
  sodium_memzero(streams_.get(), sizeof *streams_);
}

void Channel::key(bool root, std::string_view secret, std::string_view root_line,
                  std::string_view member_line) {
  const Key to_member = derive(secret, root_line, member_line, "root to member");
  const Key to_root = derive(secret, root_line, member_line, "member to root");
  streams_->tx_key = root ? to_member : to_root;
  streams_->rx_key = root ? to_root : to_member;
}

asio::awaitable<Result<void>> Channel::write(std::string bytes) {
  const auto [error, n] = co_await asio::async_write(socket_, asio::buffer(bytes), quietly);
  if (error) co_return fail("cannot write to the other agent", reason_of(error));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Channel::read_exactly(std::size_t bytes, std::string& out) {
  while (buffer_.size() < bytes) {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + std::clamp(bytes - before, least_read_bytes, most_read_bytes));
    const auto room = asio::buffer(buffer_.data() + before, buffer_.size() - before);
    const auto [error, n] = co_await socket_.async_read_some(room, quietly);
    buffer_.resize(before + n);
    if (error) co_return fail("cannot read from the other agent", reason_of(error));
    last_read_ = std::chrono::steady_clock::now();
  }
  out = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  co_return Result<void>{};
}

// Does not own the channel: an abandoned channel closes its connection at once.
void Channel::limit_handshake(std::chrono::milliseconds limit) {
  deadline_.expires_after(limit);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    boost::system::error_code ignored;
    if (self && !error) self->socket_.close(ignored);
  });
}

asio::awaitable<Result<std::string>> Channel::read_line(std::chrono::milliseconds first_byte) {
  const auto self = shared_from_this();
  limit_handshake(first_byte);
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos && end < max_line_bytes) {
      limit_handshake(patience_.handshake);
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      co_return line;
    }
    if (buffer_.size() >= max_line_bytes ||
        !std::string_view(magic).starts_with(std::string_view(buffer_).substr(0, magic.size()))) {
      co_return fail("what answers is not a toprun agent", "it speaks another protocol");
    }
    char chunk[max_line_bytes];
    const auto [error, n] = co_await socket_.async_read_some(asio::buffer(chunk), quietly);
    if (error) {
      was_closed_without_data_ =
          buffer_.empty() && (error == asio::error::eof || error == asio::error::connection_reset ||
                              error == asio::error::broken_pipe);
      if (!buffer_.empty() || error != asio::error::operation_aborted) {
        co_return fail("what answers is not a toprun agent", reason_of(error));
      }
      co_return fail("what answers is not a toprun agent",
                     "it says nothing for " + duration_text(first_byte));
    }
    if (buffer_.empty()) limit_handshake(patience_.handshake);
    buffer_.append(chunk, n);
  }
}

asio::awaitable<void> Channel::close_after_answer() {
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  limit_handshake(parting);
  std::array<char, least_read_bytes> dropped;
  for (;;) {
    const auto [error, n] = co_await socket_.async_read_some(asio::buffer(dropped), quietly);
    if (error) break;
  }
  shut();
}

void Channel::abandon(std::string_view last_words) {
  boost::system::error_code failed;
  socket_.non_blocking(true, failed);
  // As in close_after_answer(), for the bytes already received.
  std::array<char, max_line_bytes> dropped;
  if (!failed) socket_.read_some(asio::buffer(dropped), failed);
  boost::system::error_code ignored;
  socket_.write_some(asio::buffer(last_words), ignored);
  shut();
}

Fd Channel::give_away() {
  deadline_.cancel();
  boost::system::error_code failed;
  Fd socket(socket_.release(failed));
  closed_ = true;
  return buffer_.empty() && !failed ? std::move(socket) : Fd();
}

// Returns the header of the outgoing stream.
std::string Channel::begin_stream() {
  std::string header(header_bytes, '\0');
  crypto_secretstream_xchacha20poly1305_init_push(
      &streams_->tx, reinterpret_cast<unsigned char*>(header.data()), streams_->tx_key.data());
  return header;
}

asio::awaitable<Result<void>> Channel::write_first(std::string line,
                                                   const nlohmann::json& message) {
  line += begin_stream();
  line += seal(message.dump(), false);
  auto written = co_await write(std::move(line));
  co_return written;
}

asio::awaitable<Result<void>> Channel::read_header() {
  std::string header;
  auto read = co_await read_exactly(header_bytes, header);
  if (!read) co_return read;
  if (crypto_secretstream_xchacha20poly1305_init_pull(
          &streams_->rx, reinterpret_cast<const unsigned char*>(header.data()),
          streams_->rx_key.data()) != 0) {
    co_return fail("the other agent's key header is malformed");
  }
  co_return Result<void>{};
}

asio::awaitable<Result<nlohmann::json>> Channel::read_frame() {
  std::string bytes;
  auto read = co_await read_exactly(length_bytes, bytes);
  if (!read) co_return std::unexpected(read.error());
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length < overhead || length > (first_frame_ ? max_first_frame_bytes : max_frame_bytes)) {
    co_return fail("a frame of the other agent has an impossible length");
  }
  read = co_await read_exactly(length, bytes);
  if (!read) co_return std::unexpected(read.error());
  std::string plain(length - overhead, '\0');
  unsigned char tag = 0;
  if (crypto_secretstream_xchacha20poly1305_pull(
          &streams_->rx, reinterpret_cast<unsigned char*>(plain.data()), nullptr, &tag,
          reinterpret_cast<const unsigned char*>(bytes.data()), length, nullptr, 0) != 0) {
    has_other_key_ = true;
    co_return fail("the other agent has another secret");
  }
  first_frame_ = false;
  if (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) ended_ = true;
  if (plain.empty()) co_return nlohmann::json();
  nlohmann::json message = nlohmann::json::parse(plain, nullptr, false);
  if (message.is_discarded()) co_return fail("a message of the other agent is not JSON");
  co_return message;
}

std::string Channel::seal(std::string_view plaintext, bool last) {
  const auto length = static_cast<std::uint32_t>(plaintext.size() + overhead);
  std::string frame(length_bytes + length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  crypto_secretstream_xchacha20poly1305_push(
      &streams_->tx, reinterpret_cast<unsigned char*>(frame.data() + length_bytes), nullptr,
      reinterpret_cast<const unsigned char*>(plaintext.data()), plaintext.size(), nullptr, 0,
      last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
           : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
  return frame;
}

void Channel::start() {
  last_read_ = std::chrono::steady_clock::now();
  const auto executor = socket_.get_executor();
  const auto self = shared_from_this();
  // An exception in a message handler must not be ignored: the link then counts as lost.
  const auto ended = [self](const std::exception_ptr& error) {
    if (error) self->lose({Loss::Kind::malformed, "what it sent could not be handled"});
  };
  asio::co_spawn(
      executor, [self] { return self->receive(); }, ended);
  asio::co_spawn(
      executor, [self] { return self->transmit(); }, ended);
  asio::co_spawn(
      executor, [self] { return self->keep_alive(); }, ended);
}

asio::awaitable<void> Channel::receive() {
  const auto self = shared_from_this();
  while (!closed_) {
    auto message = co_await read_frame();
    if (!message) {
      const Error& error = message.error();
      lose({error.why.empty() ? Loss::Kind::malformed : Loss::Kind::closed,
            error.why.empty() ? error.what : error.why});
      co_return;
    }
    if (!message->is_null() && on_message && !closed_) on_message(std::move(*message));
    if (ended_) {
      shut();
      co_return;
    }
  }
}

asio::awaitable<void> Channel::transmit() {
  const auto self = shared_from_this();
  while (!closed_) {
    if (queue_.empty()) {
      if (closing_) {
        // Half close only: bytes that still arrive must not turn into a reset and lose what was
        // sent.
        boost::system::error_code ignored;
        socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
        co_return;
      }
      co_await outgoing_.async_wait(quietly);
      outgoing_.expires_at(std::chrono::steady_clock::time_point::max());
      continue;
    }
    const std::string batch = std::exchange(queue_, {});
    last_write_ = std::chrono::steady_clock::now();
    const auto [error, n] = co_await asio::async_write(socket_, asio::buffer(batch), quietly);
    if (error) {
      lose({Loss::Kind::closed, reason_of(error)});
      co_return;
    }
  }
}

asio::awaitable<void> Channel::keep_alive() {
  const auto self = shared_from_this();
  auto due = std::chrono::steady_clock::now() + patience_.beat;
  while (!closed_) {
    deadline_.expires_at(due);
    co_await deadline_.async_wait(quietly);
    if (closed_) co_return;
    const auto now = std::chrono::steady_clock::now();
    // If this process was stopped or busy, the other end's bytes may still be in the socket.
    if (now - due > patience_.beat) last_read_ = now;
    if (now - last_read_ > patience_.silence) {
      lose({Loss::Kind::silent, "no word for " + duration_text(patience_.silence)});
      co_return;
    }
    // Other messages replace the heartbeat.
    const bool is_idle = now - last_write_ >= patience_.beat;
    if (is_idle && !closing_) enqueue(seal({}, false));
    due = (is_idle ? now : last_write_) + patience_.beat;
  }
}

void Channel::enqueue(std::string frame) {
  if (queue_.size() + frame.size() > max_queue_bytes) {
    lose({Loss::Kind::closed, "it does not read what is sent to it"});
    return;
  }
  queue_ += frame;
  outgoing_.cancel();
}

void Channel::send(const nlohmann::json& message) {
  if (closing_ || closed_) return;
  enqueue(seal(message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), false));
}

void Channel::close() {
  if (closed_ && on_closed) asio::post(socket_.get_executor(), std::exchange(on_closed, nullptr));
  if (closing_ || closed_) return;
  enqueue(seal({}, true));
  closing_ = true;
  on_message = nullptr;
  on_lost = nullptr;
}

void Channel::lose(Loss loss) {
  if (closed_) return;
  const auto tell = std::move(on_lost);
  if (!closing_) on_closed = nullptr;
  shut();
  if (tell) asio::post(socket_.get_executor(), [tell, loss = std::move(loss)] { tell(loss); });
}

void Channel::shut() {
  if (closed_) return;
  closed_ = true;
  if (on_closed) asio::post(socket_.get_executor(), std::move(on_closed));
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  deadline_.cancel();
  outgoing_.cancel();
}

}  // namespace toprun::rendezvous
