#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/prepare/stage/manifest.h"

namespace toprun::stage {

// The connection over which one agent asks another for an environment. The connection goes to the
// port of the agent that has the environment. The connection begins with the preambles of
// node/link/preamble.h; the agent that asks has the role `stage`. After the preambles, both sides
// send these records:
//
//   asking    proof           a hash of both preambles under the job's key
//   answering proof           another such hash
//   asking    has             the digest of the manifest that it has, or nothing
//   answering manifest, seal  only an empty seal if the manifest is the same
//   asking    lacks           a bit for each chunk
//   answering data …, end
//
// A record is a head of 16 bytes (u32 kind, u32 length, u64 number) and `length` bytes. While the
// side that answers has nothing to send, it sends `wait` every second. If the answering side will
// never have the data, it sends `refuse`. Both agents got the key from the root over the agent
// channel; the seal is a hash of the manifest with this key. Chunks are checked against the
// manifest's hashes. So other users of the network may read the content, but cannot change it.
enum class Record : std::uint32_t {
  proof = 1,
  has,       // length 0 or hash_bytes
  manifest,  // a part of at most most_part_bytes; number: the size of the whole manifest
  seal,      // the keyed hash of the manifest
  lacks,     // number: the number of chunks
  data,      // number: the index of the chunk
  wait,
  refuse,  // number 1: no node can provide the data
  end,
};

struct Head {
  Record kind = Record::wait;
  std::uint32_t length = 0;
  std::uint64_t number = 0;
};
inline constexpr std::size_t head_bytes = 16;
inline constexpr std::size_t most_part_bytes = std::size_t{1} << 20;
inline constexpr std::size_t most_reason_bytes = 2000;

std::string encode(const Head& head);
// Parses the head of a record. nullopt if the kind is unknown.
std::optional<Head> decode_head(std::string_view bytes);

// How long each end of the connection waits for the other.
struct Waits {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds silence{15'000};     // limit for silence of the side that answers
  std::chrono::milliseconds wait_record{1'000};  // the interval between the `wait` records of the
                                                 // side that answers
  std::chrono::milliseconds send{60'000};        // limit until the other end accepts more bytes
};

// A TCP connection with blocking calls, for use on a separate thread. A call returns when its work
// is done, when its time limit has passed or when `stopped` returns true.
class Wire {
 public:
  // `input`: bytes that were already read from the socket.
  Wire(Fd socket, Waits waits, std::function<bool()> stopped, std::string input = {});
  static Result<Wire> connect(const hosts::Address& address, int port, Waits waits,
                              std::function<bool()> stopped);

  // Returns the line without its newline.
  Result<std::string> read_line(std::size_t most_bytes);
  Result<void> read(char* bytes, std::size_t size);
  Result<Head> read_head();
  // Sends the bytes at once, after the bytes that were queued before.
  Result<void> send(std::string_view bytes);
  Result<void> send(const Head& head, std::string_view bytes);
  // Queues a record; the next send() or flush() sends it.
  Result<void> queue(const Head& head, std::string_view bytes);
  // Sends a record whose bytes come directly from a file, without a copy in this process.
  Result<void> send_file(const Head& head, int file, std::uint64_t offset);
  Result<void> flush() { return send({}); }
  // Whether the other end has closed the connection.
  bool is_closed() const;

 private:
  Result<void> fill();
  Result<void> await(short events, std::chrono::milliseconds limit) const;

  Fd socket_;
  Waits waits_;
  std::function<bool()> stopped_;
  std::string input_;
  std::size_t used_ = 0;  // used bytes of input_
  std::string output_;
};

}  // namespace toprun::stage
