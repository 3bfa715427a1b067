#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace toprun::store {

// Limits on the data that the server stores for clients. A connection that exceeds a limit is
// closed. The server reports the exceeded limit at most once per second and limit.
struct Limits {
  std::size_t key_bytes = 8u << 10;  // same value as in PyTorch's libuv server
  // The limit for a value in one request, as in PyTorch. APPEND may grow a value beyond this limit.
  std::size_t value_bytes = 8u << 20;
  std::size_t keys_per_request = 131'072;  // same value as in PyTorch's libuv server
  std::size_t request_bytes = 1u << 30;    // one request, which is buffered until it is complete
  // The limit on keys, values, queues, pending waits, incomplete requests and unread replies
  // together.
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t connections = 200'000;
  std::size_t backlog_bytes = 64u << 20;  // replies that one client has not read yet
  // The maximum number of connections of unknown type (undecided). If there are more such
  // connections, the oldest connection is closed. Undecided connections have no time limit, because
  // an old PyTorch client sends nothing until its first request.
  std::size_t undecided = 16'384;
};

// Returns Limits::undecided for a process that may open `open_files` files. The process's other
// descriptors are reserved for connections whose type is known.
constexpr std::size_t undecided_among(std::size_t open_files) {
  return open_files / 4 < Limits().undecided ? open_files / 4 : Limits().undecided;
}

// Whether store clients are served. If clients are refused, a client's connection is closed as soon
// as the client is recognised. The connections of visitors (other agents of toprun, which first
// send "toprun/") are not closed for this reason.
enum class Clients : std::uint8_t { refused, served };

// Why the server closes a connection.
enum class Refusal : std::uint8_t {
  none,
  // The request exceeded the limit of the same name in Limits.
  key_bytes,
  value_bytes,
  keys_per_request,
  request_bytes,
  total_bytes,
  connections,
  backlog_bytes,
  // The following reasons for a refusal have no limit of the same name in Limits.
  open_files,      // the process has no file descriptor left
  stranger,        // the first bytes are not from a PyTorch client
  unknown_opcode,  // an opcode is unknown, or a second handshake arrived
  not_a_number,    // ADD or BARRIER on a key whose value is not a number
  not_serving,     // clients are refused, or the client's attempt has ended
};
inline constexpr std::size_t refusal_kinds = 13;

// Describes the refusal, such as "a key is longer than the limit max-key, 8192 bytes".
std::string refusal_text(Refusal refusal, const Limits& limits);

// The wire protocol of TCPStore in PyTorch 1.13 to 2.14. A request is one opcode byte and its
// fields. Integers are little-endian, a key or value is a u64 length and its bytes, and a list is a
// u64 count and its items.

// The opcodes of generations C to F (PyTorch 2.2 and later). Each generation has all opcodes of the
// previous generation.
enum class Op : std::uint8_t {
  validate = 0,  // allowed only as the first request
  set = 1,
  compare_set = 2,
  get = 3,
  add = 4,
  check = 5,
  wait = 6,
  get_num_keys = 7,
  delete_key = 8,
  append = 9,
  multi_get = 10,
  multi_set = 11,
  cancel_wait = 12,
  ping = 13,
  queue_push = 14,
  queue_pop = 15,
  queue_len = 16,
  list_keys = 17,
  barrier = 18,
  watch_key = 19,  // generation A only (sent as 7)
};

enum class Dialect : std::uint8_t {
  undecided,
  bare,       // generation A (PyTorch up to 2.0): no handshake, and opcodes are lower by 1
  validated,  // generations C to F
};

inline constexpr std::string_view handshake{"\x00\xCE\xF7\x85\x3C", 5};
inline constexpr std::string_view visitor_opening = "toprun/";

enum class Opening : std::uint8_t { undecided, visitor, bare, validated, stranger };
// Determines the kind of client from the first bytes of a connection. Returns `undecided` if more
// bytes are needed.
Opening sniff(std::string_view first_bytes, const Limits& limits);

inline constexpr std::uint8_t ready = 0;      // CHECK: all keys are present
inline constexpr std::uint8_t not_ready = 1;  // CHECK: at least one key is missing
inline constexpr std::uint8_t stop_waiting = 0;
inline constexpr std::uint8_t wait_canceled = 1;

enum class KeyEvent : std::uint8_t { updated = 0, created = 1, deleted = 2, registered = 3 };

// The state of an incremental parse of the request at the start of a byte stream. New bytes never
// restart the parse, so the cost is linear in the number of bytes received.
struct Scan {
  std::size_t position = 0;  // position of the first incomplete field
  // The parse can continue only after this many bytes of the request have arrived.
  std::size_t needed = 1;
  std::uint64_t rounds = 0;  // number of incomplete rounds of fields, including the current round
  std::uint8_t field = 0;    // the next field in the current round
  bool counted = false;      // the list's count has been read
  Op op = Op::validate;
};

enum class Progress : std::uint8_t { incomplete, complete, refused };
// Continues the parse. `bytes` begins with the request and contains all bytes that have arrived.
// After `complete`, the first `scan.position` bytes of `bytes` are the request. After `refused`,
// `why` is set.
Progress advance(Scan& scan, std::string_view bytes, Dialect dialect, const Limits& limits,
                 Refusal& why);

// Reads the fields of a request for which advance() returned `complete`.
class Fields {
 public:
  explicit Fields(std::string_view request) : rest_(request.substr(1)) {}

  template <class Integer>
  Integer integer() {
    Integer number;
    rest_.copy(reinterpret_cast<char*>(&number), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::string_view bytes() {
    const auto length = static_cast<std::size_t>(integer<std::uint64_t>());
    const std::string_view field = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Encodes requests of generations C to F. Requests that only tests send are in
// node/store/client_testing.h.
namespace requests {

std::string validate();
std::string ping(std::uint32_t nonce);
std::string set(std::string_view key, std::string_view value);
std::string get(std::string_view key);
std::string add(std::string_view key, std::int64_t delta);
std::string check(std::span<const std::string> keys);
std::string wait(std::span<const std::string> keys);
std::string multi_get(std::span<const std::string> keys);
std::string cancel_wait();

// Encodes the length as a u64, then the bytes.
std::string counted(std::string_view bytes);
// Encodes the number in little-endian order, with the size of its type.
template <class Integer>
std::string integer(Integer number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace requests

}  // namespace toprun::store
