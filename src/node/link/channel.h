#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/link/channels.h"
#include "run/model/messages.h"

namespace toprun::link {

inline constexpr std::size_t max_first_frame_bytes = 64u << 10;
inline constexpr std::size_t max_frame_bytes = 16u << 20;
// Limit for queued bytes that the other end has not received yet.
inline constexpr std::size_t max_queue_bytes = 64u << 20;

// How long close_after_answer() waits for the other end to close.
inline constexpr std::chrono::milliseconds parting{1'000};

// The time limits with which agents wait for each other. The root and all members of a job use the
// same values.
struct Patience {
  // How long a channel waits for the peer's first byte. A peer that is silent for longer is taken
  // for another program, not a toprun agent.
  std::chrono::milliseconds first_byte{2'000};
  std::chrono::milliseconds handshake{10'000};  // time limit for the whole handshake
  std::chrono::milliseconds beat{2'000};        // interval of heartbeats on an idle link
  std::chrono::milliseconds silence{10'000};    // after this time without any bytes, the link is
                                                // lost
};

// A link over TCP: libsodium secretstream frames with JSON. A frame is a little-endian u32 with the
// length of the ciphertext, then the ciphertext. An empty message is a heartbeat, and TAG_FINAL
// marks the end.
//
//   fresh --key(), first frames--> keyed --start()--> open --close()/loss--> closed
class Channel : public model::Link, public std::enable_shared_from_this<Channel> {
 public:
  using OnLine = std::function<void(Result<std::string>)>;
  using OnFrame = std::function<void(Result<nlohmann::json>)>;

  Channel(Channels& channels, Fd socket, Patience patience);
  ~Channel() override;

  // Derives the two session keys from the secret and the preamble lines of both ends.
  void key(bool root, std::string_view secret, std::string_view root_line,
           std::string_view member_line);

  // The steps of the handshake, which must be complete within `patience.handshake`. Call the
  // function for a step only after the previous step's callback was called. read_line() and
  // read_first() call their callback later, or at once if the data is available already.
  void write(std::string_view bytes);
  // Reads a plaintext line, without its newline. `first_byte` limits the wait for the line's first
  // byte.
  void read_line(std::chrono::milliseconds first_byte, OnLine on_line);
  // Reads the secretstream header for the other end's key, and the other end's first frame.
  void read_first(OnFrame on_frame);
  // Sends a plaintext line, the secretstream header for our key and the first frame, all in one
  // packet. Each further packet would cost both ends as much as the cryptography of a handshake.
  void write_first(std::string line, const nlohmann::json& message);
  // Gives the channel bytes that the caller has already read from the channel's socket.
  void put_back(std::string bytes) { buffer_ = std::move(bytes); }
  // Whether a frame could not be decrypted, because the other end has a different secret.
  bool has_other_key() const { return has_other_key_; }
  // The length of the frame that was refused because it was too long; 0 if there was none.
  std::uint32_t too_long_bytes() const { return too_long_bytes_; }

  // Whether the other end closed the connection, or was lost, before it sent any byte.
  bool was_closed_without_data() const { return was_closed_without_data_; }
  // Ends a connection after its last message, an answer, was sent. Sends nothing more, and closes
  // the connection when the other end closes it, or after the time `parting`. Reads and discards
  // bytes that arrive before the close, because for unread bytes, the kernel would send a reset and
  // the answer might be lost.
  void close_after_answer(std::function<void()> on_end);

  // Starts heartbeats and callbacks. Ends the handshake; from then on, send() may be used. If the
  // connection is already closed, reports the loss.
  void start();
  void send(const nlohmann::json& message) override;
  void close() override;
  // Sends as many bytes of `last_words` as the socket accepts, then closes the connection at once.
  void abandon(std::string_view last_words);
  int descriptor() { return socket_.get(); }
  // Hands the socket over to the caller. Call give_away() only after read_line() and before any
  // other step. Returns a closed descriptor if bytes after the line have arrived already.
  Fd give_away();

  boost::asio::io_context& io() { return channels_.io(); }
  boost::asio::ip::tcp::endpoint local() const;
  boost::asio::ip::tcp::endpoint remote() const;

 private:
  friend class Channels;
  // What the channel does with bytes that arrive.
  enum class Awaits { nothing, line, first_frame, messages, end };

  // Called by Channels: ready() for epoll events, flush() at the end of an event-loop iteration,
  // and pass() at intervals. `late`: how much later than planned pass() is called.
  void ready(std::uint32_t events);
  void flush();
  void pass(std::chrono::steady_clock::time_point now, std::chrono::steady_clock::duration late);

  void await(Awaits what);
  void watch();
  void receive();
  void process();
  bool take_one();
  bool take_line();
  bool take_first();
  bool take_message();
  std::string_view unused() const { return std::string_view(buffer_).substr(used_); }
  std::optional<Result<nlohmann::json>> next_frame();
  void seal(std::string_view plaintext, bool last, std::size_t most = max_frame_bytes);
  void write_soon();
  void broken(int error);
  void fail_reading(std::string why);
  void lose(model::Loss loss);
  void shut();

  Channels& channels_;
  Fd socket_;
  Patience patience_;
  struct Streams;
  std::unique_ptr<Streams> streams_;
  Awaits awaits_ = Awaits::nothing;
  std::uint32_t watched_ = 0;  // epoll events; 0: the socket is not watched
  Channels::Number number_ = 0;
  std::string buffer_;       // received bytes
  std::size_t used_ = 0;     // how many bytes of buffer_ are processed
  std::string queue_;        // bytes to write
  std::size_t written_ = 0;  // how many bytes of queue_ are written
  std::string why_closed_ = "the connection was closed";
  OnLine on_line_;
  OnFrame on_frame_;
  std::function<void()> on_end_;
  std::chrono::milliseconds first_byte_{0};
  std::chrono::steady_clock::time_point deadline_;  // the deadline of the handshake
  std::chrono::steady_clock::time_point last_read_;
  std::chrono::steady_clock::time_point last_write_;
  bool has_header_ = false;
  bool has_other_key_ = false;
  std::uint32_t too_long_bytes_ = 0;
  bool was_closed_without_data_ = false;
  bool processing_ = false;  // process() is running
  bool will_write_ = false;  // write_soon() was called
  bool closing_ = false;     // close() was called
  bool ended_ = false;       // the other end has closed
  bool closed_ = false;
};

// Variants of Channel::read_line() and read_first() for coroutines, which wait for the result. Use
// only named objects in the co_await expression, because g++ 12 destroys temporaries in it twice.
boost::asio::awaitable<Result<std::string>> read_line(std::shared_ptr<Channel> channel,
                                                      std::chrono::milliseconds first_byte);
boost::asio::awaitable<Result<nlohmann::json>> read_first(std::shared_ptr<Channel> channel);

}  // namespace toprun::link
