#include "node/link/channel.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/json/json_text.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/link/preamble.h"

namespace toprun::link {
namespace asio = boost::asio;

namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t overhead = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;

// In a frame's JSON, and one more for each 16 bytes: that of 100,000 nodes has fewer.
constexpr std::size_t most_frame_values = std::size_t{1} << 20;

// For one read, before the other end has proved that it has the secret.
constexpr std::size_t handshake_read_bytes = 2'048;

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

// ": 'SSH-2.0-OpenSSH_9.2'", by which a user knows the program; empty if it is not plain text.
std::string quoted_greeting(std::string_view bytes) {
  constexpr std::size_t most_quoted = 60;
  const std::string_view line = bytes.substr(0, std::min(bytes.find_first_of("\r\n"), most_quoted));
  const bool is_plain = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  return line.empty() || !is_plain ? "" : fmt::format(": '{}'", line);
}

// Unread bytes turn a close into a reset.
bool is_closed(int error) {
  return error == 0 || error == ECONNRESET || error == EPIPE;
}

std::string reason_of(int error) {
  return is_closed(error) ? "the connection was closed" : errno_text(error);
}

asio::ip::tcp::endpoint endpoint_of(int fd, int (*end)(int, sockaddr*, socklen_t*)) {
  asio::ip::tcp::endpoint endpoint;
  auto length = static_cast<socklen_t>(endpoint.capacity());
  if (end(fd, endpoint.data(), &length) == 0) endpoint.resize(length);
  return endpoint;
}

// The first bytes, which are done with; with all of them their memory, because a root has thousands
// of links.
void drop(std::string& bytes, std::size_t& done) {
  if (done == bytes.size()) {
    std::string().swap(bytes);
  } else {
    bytes.erase(0, done);
  }
  done = 0;
}

}  // namespace

struct Channel::Streams {
  Key tx_key{};
  Key rx_key{};
  crypto_secretstream_xchacha20poly1305_state tx{};
  crypto_secretstream_xchacha20poly1305_state rx{};
};

Channel::Channel(Channels& channels, Fd socket, Patience patience)
    : channels_(channels),
      socket_(std::move(socket)),
      patience_(patience),
      streams_(std::make_unique<Streams>()) {}

Channel::~Channel() {
  sodium_memzero(streams_.get(), sizeof *streams_);
}

asio::ip::tcp::endpoint Channel::local() const {
  return endpoint_of(socket_.get(), ::getsockname);
}

asio::ip::tcp::endpoint Channel::remote() const {
  return endpoint_of(socket_.get(), ::getpeername);
}

void Channel::key(bool root, std::string_view secret, std::string_view root_line,
                  std::string_view member_line) {
  const Key to_member = derive(secret, root_line, member_line, "root to member");
  const Key to_root = derive(secret, root_line, member_line, "member to root");
  streams_->tx_key = root ? to_member : to_root;
  streams_->rx_key = root ? to_root : to_member;
}

void Channel::write(std::string_view bytes) {
  queue_ += bytes;
  flush();
}

void Channel::read_line(std::chrono::milliseconds first_byte, OnLine on_line) {
  first_byte_ = first_byte;
  deadline_ = std::chrono::steady_clock::now() + first_byte;
  on_line_ = std::move(on_line);
  await(Awaits::line);
}

void Channel::read_first(OnFrame on_frame) {
  on_frame_ = std::move(on_frame);
  await(Awaits::first_frame);
}

// Goes on with bytes that have arrived already.
void Channel::await(Awaits what) {
  awaits_ = what;
  if (closed_) return fail_reading(why_closed_);
  process();
}

void Channel::write_first(std::string line, const nlohmann::json& message) {
  const std::size_t before = line.size();
  line.resize(before + header_bytes);
  crypto_secretstream_xchacha20poly1305_init_push(
      &streams_->tx, reinterpret_cast<unsigned char*>(line.data() + before),
      streams_->tx_key.data());
  queue_ += line;
  seal(json_text(message), false, max_first_frame_bytes);
  flush();
}

void Channel::close_after_answer(std::function<void()> on_end) {
  if (closed_) return on_end();
  ::shutdown(socket_.get(), SHUT_WR);
  on_end_ = std::move(on_end);
  deadline_ = std::chrono::steady_clock::now() + parting;
  await(Awaits::end);
}

void Channel::abandon(std::string_view last_words) {
  // As in close_after_answer(), for the bytes already received.
  std::array<char, max_line_bytes> dropped;
  [[maybe_unused]] ssize_t done =
      ::recv(socket_.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
  done = ::send(socket_.get(), last_words.data(), last_words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shut();
}

Fd Channel::give_away() {
  const bool all_used = unused().empty();
  closed_ = true;
  watch();
  Fd socket = std::move(socket_);
  return all_used ? std::move(socket) : Fd();
}

void Channel::start() {
  if (closed_ && on_lost && !closing_) {
    asio::post(channels_.io(), [tell = std::exchange(on_lost, nullptr), why = why_closed_] {
      tell({model::Loss::Kind::closed, why});
    });
  }
  last_read_ = std::chrono::steady_clock::now();
  awaits_ = Awaits::messages;
  watch();
  if (!processing_ && !unused().empty()) {
    asio::post(channels_.io(), [self = shared_from_this()] { self->process(); });
  }
}

void Channel::ready(std::uint32_t events) {
  if (events & EPOLLOUT) flush();
  if (events & ~static_cast<std::uint32_t>(EPOLLOUT)) receive();
}

// While nothing is awaited, what arrives stays in the socket. A step may be followed by another at
// once: process() calls this when it is done.
void Channel::watch() {
  if (processing_ && !closed_) return;
  std::uint32_t requested = 0;
  if (!closed_ && awaits_ != Awaits::nothing) requested |= EPOLLIN;
  if (!closed_ && !queue_.empty()) requested |= EPOLLOUT;
  const std::uint32_t before = std::exchange(watched_, requested);
  if (requested == before) return;
  if (requested == 0) {
    channels_.remove(number_, socket_.get());
  } else if (before == 0) {
    number_ = channels_.add(shared_from_this(), socket_.get(), requested, patience_.beat);
  } else {
    channels_.change(number_, socket_.get(), requested);
  }
}

void Channel::receive() {
  if (awaits_ == Awaits::nothing || closed_) return;
  ReadBuffer& bytes = channels_.received();
  const std::size_t most = awaits_ == Awaits::messages ? bytes.size() : handshake_read_bytes;
  const ssize_t count = ::recv(socket_.get(), bytes.data(), most, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (count <= 0) return broken(count == 0 ? 0 : errno);
  if (awaits_ == Awaits::end) return;
  last_read_ = std::chrono::steady_clock::now();
  if (awaits_ == Awaits::line && unused().empty()) deadline_ = last_read_ + patience_.handshake;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  process();
}

// A callback may ask for the next step, which the loop here goes on with. An exception in one must
// not be ignored: the link then counts as lost.
void Channel::process() {
  if (processing_) return;
  const auto self = shared_from_this();
  processing_ = true;
  try {
    while (!closed_ && take_one()) {
    }
  } catch (...) {
    lose({model::Loss::Kind::malformed, "toprun could not handle what it sent"});
  }
  processing_ = false;
  drop(buffer_, used_);
  watch();
}

// Whether there was enough for a step.
bool Channel::take_one() {
  switch (awaits_) {
    case Awaits::line:
      return take_line();
    case Awaits::first_frame:
      return take_first();
    case Awaits::messages:
      return take_message();
    case Awaits::end:
      used_ = buffer_.size();
      return false;
    case Awaits::nothing:
      break;
  }
  return false;
}

bool Channel::take_line() {
  const std::string_view bytes = unused();
  const std::size_t end = bytes.find('\n');
  const bool is_whole = end != std::string_view::npos && end < max_line_bytes;
  if (!is_whole || !bytes.starts_with(magic)) {
    if (!is_whole && bytes.size() < max_line_bytes &&
        magic.starts_with(bytes.substr(0, magic.size()))) {
      return false;
    }
    fail_reading("it speaks another protocol" + quoted_greeting(bytes));
    return true;
  }
  std::string line(bytes.substr(0, end));
  used_ += end + 1;
  deadline_ = std::chrono::steady_clock::now() + patience_.handshake;
  awaits_ = Awaits::nothing;
  std::exchange(on_line_, nullptr)(std::move(line));
  return true;
}

bool Channel::take_first() {
  if (!has_header_) {
    if (unused().size() < header_bytes) return false;
    has_header_ = true;
    const auto* const header = reinterpret_cast<const unsigned char*>(unused().data());
    used_ += header_bytes;
    if (crypto_secretstream_xchacha20poly1305_init_pull(&streams_->rx, header,
                                                        streams_->rx_key.data()) != 0) {
      fail_reading("the other agent's key header is malformed");
      return true;
    }
  }
  auto frame = next_frame();
  if (!frame) return false;
  awaits_ = Awaits::nothing;
  std::exchange(on_frame_, nullptr)(*std::move(frame));
  return true;
}

bool Channel::take_message() {
  auto message = next_frame();
  if (!message) return false;
  if (!*message) {
    lose({model::Loss::Kind::malformed, message->error()->what});
    return true;
  }
  if (!(*message)->is_null() && on_message && !closing_) on_message(**std::move(message));
  if (ended_) shut();
  return true;
}

// Nullopt if it has not arrived as a whole.
std::optional<Result<nlohmann::json>> Channel::next_frame() {
  const std::string_view bytes = unused();
  if (bytes.size() < length_bytes) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t most = awaits_ == Awaits::first_frame ? max_first_frame_bytes : max_frame_bytes;
  if (length > most) too_long_bytes_ = length;
  if (length < overhead || length > most) {
    return fail("a message from toprun on another node has an impossible length");
  }
  if (bytes.size() < length_bytes + length) return std::nullopt;
  used_ += length_bytes + length;
  std::string& plain = channels_.plaintext();
  plain.resize(length - overhead);
  unsigned char tag = 0;
  if (crypto_secretstream_xchacha20poly1305_pull(
          &streams_->rx, reinterpret_cast<unsigned char*>(plain.data()), nullptr, &tag,
          reinterpret_cast<const unsigned char*>(bytes.data() + length_bytes), length, nullptr,
          0) != 0) {
    has_other_key_ = true;
    return fail(
        "toprun on the other node has a different secret: its TOPRUN_SECRET differs, or it belongs "
        "to another job");
  }
  if (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) ended_ = true;
  if (plain.empty()) return nlohmann::json();
  nlohmann::json message = json_in(plain, JsonLimits{.values = most_frame_values});
  if (message.is_discarded()) {
    return fail("a message from toprun on another node is not JSON, or has too many values");
  }
  return message;
}

// Puts a frame into the queue. What the other end would not take is not sent: it could only close
// the connection without a word.
void Channel::seal(std::string_view plaintext, bool last, std::size_t most) {
  const auto length = static_cast<std::uint32_t>(plaintext.size() + overhead);
  if (plaintext.size() + overhead > most) {
    return lose({model::Loss::Kind::malformed,
                 fmt::format("a message to it has {} bytes, at most {} are allowed",
                             plaintext.size(), most - overhead)});
  }
  if (queue_.size() - written_ + length > max_queue_bytes) {
    return lose({model::Loss::Kind::closed, "it does not read what is sent to it"});
  }
  const std::size_t start = queue_.size();
  queue_.resize(start + length_bytes + length);
  std::memcpy(queue_.data() + start, &length, sizeof length);
  crypto_secretstream_xchacha20poly1305_push(
      &streams_->tx, reinterpret_cast<unsigned char*>(queue_.data() + start + length_bytes),
      nullptr, reinterpret_cast<const unsigned char*>(plaintext.data()), plaintext.size(), nullptr,
      0,
      last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
           : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
}

void Channel::flush() {
  will_write_ = false;
  if (closed_ || queue_.empty()) return;
  last_write_ = std::chrono::steady_clock::now();
  // The last frame waits for the end of the connection and shares its packet.
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (closing_ ? MSG_MORE : 0);
  const ssize_t sent =
      ::send(socket_.get(), queue_.data() + written_, queue_.size() - written_, flags);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return broken(errno);
  if (sent > 0) written_ += static_cast<std::size_t>(sent);
  if (written_ > queue_.size() / 2) drop(queue_, written_);
  if (closing_ && queue_.empty()) ::shutdown(socket_.get(), SHUT_WR);
  watch();
}

void Channel::pass(std::chrono::steady_clock::time_point now,
                   std::chrono::steady_clock::duration late) {
  if (awaits_ == Awaits::end && now >= deadline_) return shut();
  if (awaits_ != Awaits::messages) {
    if (now < deadline_) return;
    const bool is_silent = awaits_ == Awaits::line && unused().empty();
    fail_reading(is_silent ? "it says nothing for " + duration_text(first_byte_) : "time ran out");
    return shut();
  }
  // While this process was stopped or busy, the other end's bytes may have come into the socket. A
  // process that is late all the time still notices the silence, if later.
  if (late > patience_.beat) last_read_ = std::min(now, last_read_ + late);
  if (now - last_read_ > patience_.silence) {
    return lose({model::Loss::Kind::silent, "no message for " + duration_text(patience_.silence)});
  }
  // Other messages replace the heartbeat.
  if (now - last_write_ < patience_.beat || closing_) return;
  seal({}, false);
  flush();
}

void Channel::send(const nlohmann::json& message) {
  if (closing_ || closed_) return;
  seal(json_text(message), false);
  write_soon();
}

// The other end closes when it has read the last frame. Until then it may write: a close with its
// bytes unread would become a reset, and lose what was sent.
void Channel::close() {
  if (closed_ && on_closed) asio::post(channels_.io(), std::exchange(on_closed, nullptr));
  if (closing_ || closed_) return;
  closing_ = true;  // on_message may be running: it stays
  seal({}, true);
  write_soon();
}

void Channel::write_soon() {
  if (!closed_ && !std::exchange(will_write_, true)) channels_.write_soon(shared_from_this());
}

void Channel::broken(int error) {
  if (awaits_ == Awaits::messages) return lose({model::Loss::Kind::closed, reason_of(error)});
  was_closed_without_data_ = is_closed(error) && unused().empty();
  why_closed_ = reason_of(error);
  fail_reading(reason_of(error));
  shut();
}

void Channel::fail_reading(std::string why) {
  awaits_ = Awaits::nothing;
  if (const auto on_line = std::exchange(on_line_, nullptr)) {
    on_line(fail("the program that answers is not a toprun agent", std::move(why)));
  } else if (const auto on_frame = std::exchange(on_frame_, nullptr)) {
    on_frame(fail("cannot read from toprun on the other node", std::move(why)));
  }
}

void Channel::lose(model::Loss loss) {
  if (closed_) return;
  why_closed_ = loss.words;
  const auto tell = std::move(on_lost);
  if (!closing_) on_closed = nullptr;
  shut();
  if (tell && !closing_) asio::post(channels_.io(), [tell, loss = std::move(loss)] { tell(loss); });
}

void Channel::shut() {
  if (closed_) return;
  const auto self = shared_from_this();
  closed_ = true;
  if (on_closed) asio::post(channels_.io(), std::move(on_closed));
  watch();
  socket_.reset();
  awaits_ = Awaits::nothing;
  on_line_ = nullptr;
  on_frame_ = nullptr;
  if (const auto on_end = std::exchange(on_end_, nullptr)) on_end();
}

namespace {

template <class T>
struct Answer {
  explicit Answer(asio::io_context& io) : came(io, SteadyTime::max()) {}
  void give(Result<T> answer) {
    value.emplace(std::move(answer));
    came.expires_at(SteadyTime::min());
  }
  std::optional<Result<T>> value;
  asio::steady_timer came;
};

}  // namespace

asio::awaitable<Result<std::string>> read_line(std::shared_ptr<Channel> channel,
                                               std::chrono::milliseconds first_byte) {
  const auto answer = std::make_shared<Answer<std::string>>(channel->io());
  channel->read_line(first_byte, [answer](auto line) { answer->give(std::move(line)); });
  co_await answer->came.async_wait(use_nothrow_awaitable);
  co_return *std::move(answer->value);
}

asio::awaitable<Result<nlohmann::json>> read_first(std::shared_ptr<Channel> channel) {
  const auto answer = std::make_shared<Answer<nlohmann::json>>(channel->io());
  channel->read_first([answer](auto frame) { answer->give(std::move(frame)); });
  co_await answer->came.async_wait(use_nothrow_awaitable);
  co_return *std::move(answer->value);
}

}  // namespace toprun::link
