#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/error.h"
#include "rendezvous/link.h"

namespace toprun::rendezvous {

inline constexpr std::size_t max_first_frame_bytes = 64u << 10;
inline constexpr std::size_t max_frame_bytes = 16u << 20;
inline constexpr std::size_t max_queue_bytes = 64u << 20;  // not yet taken by the other end

inline constexpr std::chrono::milliseconds parting{1'000};

// How long agents wait for each other. Set once for a job by the root and by every member alike.
struct Patience {
  std::chrono::milliseconds first_byte{2'000};  // silence after connecting: not a toprun agent
  std::chrono::milliseconds handshake{10'000};  // the whole of it
  std::chrono::milliseconds beat{1'000};        // an idle link says this often that it lives
  std::chrono::milliseconds silence{10'000};    // no word at all: the other end is lost
};

// A link over TCP: libsodium secretstream frames of JSON (docs/design.md, Agent channel). A frame
// is a little-endian u32 with the length of what follows, then the ciphertext; an empty message is
// a heartbeat, and TAG_FINAL the end.
//
// In coroutines here only named objects go into a co_await: g++ 12 destroys temporaries of such an
// expression twice.
//
//   fresh --write_header, read_header--> keyed --start()--> open --close()/loss--> closed
class Channel : public Link, public std::enable_shared_from_this<Channel> {
 public:
  Channel(boost::asio::ip::tcp::socket socket, Patience patience);
  ~Channel() override;

  // Derives the two session keys from the secret and both preamble lines.
  void key(bool root, std::string_view secret, std::string_view root_line,
           std::string_view member_line);

  // Single steps of the handshake; each fails once `patience.handshake` has passed since creation.
  boost::asio::awaitable<Result<void>> write(std::string bytes);
  // A line in clear without its newline; `first_byte` bounds the wait for its first byte.
  boost::asio::awaitable<Result<std::string>> read_line(std::chrono::milliseconds first_byte);
  // Bytes that were read from the socket before it came here.
  void put_back(std::string bytes) { buffer_ = std::move(bytes); }
  // Our key's header and the first frame, after a line in clear; all at once, because each packet
  // costs both ends as much as the cryptography of a handshake.
  boost::asio::awaitable<Result<void>> write_first(std::string line, const nlohmann::json& message);
  boost::asio::awaitable<Result<void>> read_header();
  boost::asio::awaitable<Result<nlohmann::json>> read_frame();
  // Whether a frame came that was made with another key: the other end has another secret.
  bool met_another_key() const { return met_another_key_; }

  // Whether the other end closed, or was lost, before it said anything at all.
  bool was_closed_unheard() const { return was_closed_unheard_; }
  // For one that has had its answer: nothing more is sent, and the connection ends with the other
  // end's, after `parting` at the latest. What still comes is read and dropped, for the kernel
  // turns an end with unread bytes into a reset, which the answer would not survive.
  boost::asio::awaitable<void> part();

  // From here on send() and the callbacks work and heartbeats flow.
  void start();
  void send(const nlohmann::json& message) override;
  void close() override;
  // Ends the connection at once, with these bytes as far as the socket takes them.
  void abandon(std::string_view last_words);
  int descriptor() { return socket_.native_handle(); }

  boost::asio::ip::tcp::endpoint local() const { return local_; }
  boost::asio::ip::tcp::endpoint remote() const { return remote_; }

 private:
  struct Streams;
  boost::asio::awaitable<Result<void>> read_exactly(std::size_t bytes, std::string& out);
  boost::asio::awaitable<void> receive();
  boost::asio::awaitable<void> transmit();
  boost::asio::awaitable<void> keep_alive();
  std::string begin_stream();
  std::string seal(std::string_view plaintext, bool last);
  void enqueue(std::string frame);
  void lose(Loss loss);
  void shut();
  void limit_handshake(std::chrono::milliseconds limit);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::endpoint local_;
  boost::asio::ip::tcp::endpoint remote_;
  Patience patience_;
  boost::asio::steady_timer deadline_;  // of the handshake, then of the silence
  boost::asio::steady_timer outgoing_;  // wakes transmit()
  std::unique_ptr<Streams> streams_;
  std::string buffer_;  // received, not yet used
  std::string queue_;   // sealed, not yet written
  std::chrono::steady_clock::time_point heard_;
  std::chrono::steady_clock::time_point said_;  // what was last given to the socket
  bool first_frame_ = true;
  bool met_another_key_ = false;
  bool was_closed_unheard_ = false;
  bool closing_ = false;  // close() was called
  bool ended_ = false;    // the other end has closed
  bool closed_ = false;
};

}  // namespace toprun::rendezvous
