#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "rendezvous/link.h"

namespace toprun::rendezvous {

inline constexpr std::size_t max_first_frame_bytes = 64u << 10;
inline constexpr std::size_t max_frame_bytes = 16u << 20;
inline constexpr std::size_t max_queue_bytes = 64u << 20;  // not yet taken by the other end

inline constexpr std::chrono::milliseconds parting{1'000};

// How long agents wait for each other. The root and every member use the same values for a job.
struct Patience {
  std::chrono::milliseconds first_byte{2'000};  // silence after connecting: not a toprun agent
  std::chrono::milliseconds handshake{10'000};  // time limit for the whole handshake
  std::chrono::milliseconds beat{1'000};        // interval of heartbeats on an idle link
  std::chrono::milliseconds silence{10'000};    // time without any bytes: the other end is lost
};

// A link over TCP: libsodium secretstream frames of JSON. A frame is a little-endian u32 with the
// length of the ciphertext, then the ciphertext. An empty message is a heartbeat, and TAG_FINAL
// marks the end.
//
// In these coroutines only named objects may appear in a co_await expression: g++ 12 destroys its
// temporaries twice.
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
  // Reads a plaintext line, without its newline; `first_byte` limits the wait for its first byte.
  boost::asio::awaitable<Result<std::string>> read_line(std::chrono::milliseconds first_byte);
  // Returns bytes that were already read from the socket.
  void put_back(std::string bytes) { buffer_ = std::move(bytes); }
  // Sends a plaintext line, our key's header and the first frame, all at once: each packet costs
  // both ends as much as the cryptography of a handshake.
  boost::asio::awaitable<Result<void>> write_first(std::string line, const nlohmann::json& message);
  boost::asio::awaitable<Result<void>> read_header();
  boost::asio::awaitable<Result<nlohmann::json>> read_frame();
  // Whether a frame could not be decrypted: the other end has another secret.
  bool has_other_key() const { return has_other_key_; }

  // Whether the other end closed, or was lost, before it sent any byte.
  bool was_closed_without_data() const { return was_closed_without_data_; }
  // Ends a connection after its answer: sends no more and closes when the other end does, after
  // `parting` at the latest. Until then it discards the received bytes, because the kernel turns a
  // close with unread bytes into a reset, which may lose the answer.
  boost::asio::awaitable<void> close_after_answer();

  // Starts heartbeats and callbacks; from then on send() may be used.
  void start();
  void send(const nlohmann::json& message) override;
  void close() override;
  // Ends the connection at once, after sending as many of these bytes as the socket takes.
  void abandon(std::string_view last_words);
  int descriptor() { return socket_.native_handle(); }
  // The socket, for whoever goes on with it, after read_line() and nothing else. Null if bytes
  // follow the line already.
  Fd give_away();

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
  boost::asio::steady_timer deadline_;  // ends the handshake, later the silence
  boost::asio::steady_timer outgoing_;  // wakes transmit()
  std::unique_ptr<Streams> streams_;
  std::string buffer_;  // received, not yet used
  std::string queue_;   // encrypted, not yet written
  std::chrono::steady_clock::time_point last_read_;
  std::chrono::steady_clock::time_point last_write_;  // time of the last write to the socket
  bool first_frame_ = true;
  bool has_other_key_ = false;
  bool was_closed_without_data_ = false;
  bool closing_ = false;  // close() was called
  bool ended_ = false;    // the other end has closed
  bool closed_ = false;
};

}  // namespace toprun::rendezvous
