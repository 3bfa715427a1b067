#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "node/store/limits.h"

namespace toprun::store {

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
// Determines the kind of client from the first bytes of a connection. `undecided`: more bytes are
// needed.
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
// After `complete`, the request is its first `scan.position` bytes. After `refused`, `why` is set.
Progress advance(Scan& scan, std::string_view bytes, Dialect dialect, const Limits& limits,
                 Refusal& why);

// Reads the fields of a request for which advance() returned `complete`.
class Fields {
 public:
  explicit Fields(std::string_view request) : rest_(request.substr(1)) {}

  template <class Integer>
  Integer integer() {
    Integer number;
    std::memcpy(&number, rest_.data(), sizeof number);
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

}  // namespace toprun::store
