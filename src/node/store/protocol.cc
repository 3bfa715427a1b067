#include "node/store/protocol.h"

#include <fmt/format.h>

#include <array>
#include <bit>

namespace toprun::store {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the protocol sends the client's native integers, which are little-endian");

// The fields of one request: k a key, v a value, 4 and 8 so many bytes. In a list they repeat
// as often as the count before them says.
struct Shape {
  bool known = true;
  bool list = false;
  std::string_view fields;
};

constexpr std::array<Shape, 20> shapes = {{
    {.known = false, .fields = ""},  // validate: sniff() takes the only legal one
    {.fields = "kv"},                // set
    {.fields = "kvv"},               // compare_set
    {.fields = "k"},                 // get
    {.fields = "k8"},                // add
    {.list = true, .fields = "k"},   // check
    {.list = true, .fields = "k"},   // wait
    {.fields = ""},                  // get_num_keys
    {.fields = "k"},                 // delete_key
    {.fields = "kv"},                // append
    {.list = true, .fields = "k"},   // multi_get
    {.list = true, .fields = "kv"},  // multi_set
    {.fields = ""},                  // cancel_wait
    {.fields = "4"},                 // ping
    {.fields = "kv"},                // queue_push
    {.fields = "k"},                 // queue_pop
    {.fields = "k"},                 // queue_len
    {.fields = ""},                  // list_keys
    {.fields = "k8"},                // barrier
    {.fields = "k"},                 // watch_key
}};
constexpr std::uint8_t last_validated_opcode = 18;

// Generation A's opcodes 0 to 8.
constexpr std::array<Op, 9> bare_ops = {Op::set,          Op::compare_set, Op::get,
                                        Op::add,          Op::check,       Op::wait,
                                        Op::get_num_keys, Op::watch_key,   Op::delete_key};

constexpr std::size_t length_bytes = sizeof(std::uint64_t);

std::uint64_t u64_at(std::string_view bytes, std::size_t position) {
  std::uint64_t number;
  std::memcpy(&number, bytes.data() + position, sizeof number);
  return number;
}

bool begins(std::string_view bytes, std::string_view prefix) {
  const std::size_t common = std::min(bytes.size(), prefix.size());
  return bytes.substr(0, common) == prefix.substr(0, common);
}

bool read_opcode(Scan& scan, std::uint8_t code, Dialect dialect) {
  if (dialect == Dialect::bare) {
    if (code >= bare_ops.size()) return false;
    scan.op = bare_ops[code];
  } else {
    if (code > last_validated_opcode || !shapes[code].known) return false;
    scan.op = static_cast<Op>(code);
  }
  scan.position = 1;
  return true;
}

// The bytes of the field at scan.position, its length prefix included; 0 if even that is missing
// (scan.needed then says what is), or if it is over a limit.
std::size_t field_size(char kind, Scan& scan, std::string_view bytes, const Limits& limits,
                       Refusal& why) {
  if (kind == '4') return 4;
  if (kind == '8') return 8;
  scan.needed = scan.position + length_bytes;
  if (bytes.size() < scan.needed) return 0;
  const std::uint64_t length = u64_at(bytes, scan.position);
  if (kind == 'k' && length > limits.key_bytes) why = Refusal::key_bytes;
  if (kind == 'v' && length > limits.value_bytes) why = Refusal::value_bytes;
  return why == Refusal::none ? length_bytes + static_cast<std::size_t>(length) : 0;
}

}  // namespace

Opening sniff(std::string_view first_bytes, const Limits& limits) {
  if (first_bytes.empty()) return Opening::undecided;
  if (begins(first_bytes, visitor_opening)) {
    return first_bytes.size() < visitor_opening.size() ? Opening::undecided : Opening::visitor;
  }
  const auto code = static_cast<std::uint8_t>(first_bytes.front());
  if (code >= bare_ops.size()) return Opening::stranger;
  if (code != 0) return Opening::bare;
  if (begins(first_bytes, handshake)) {
    return first_bytes.size() < handshake.size() ? Opening::undecided : Opening::validated;
  }
  // Generation A's SET begins with 00 too, then the key's length. A handshake with another number
  // would be a length beyond any limit: say so now and do not wait for the other four bytes.
  if (first_bytes.size() < handshake.size()) return Opening::undecided;
  std::uint32_t low_half;
  std::memcpy(&low_half, first_bytes.data() + 1, sizeof low_half);
  return low_half > limits.key_bytes ? Opening::stranger : Opening::bare;
}

Progress advance(Scan& scan, std::string_view bytes, Dialect dialect, const Limits& limits,
                 Refusal& why) {
  if (bytes.size() < scan.needed) return Progress::incomplete;
  if (scan.position == 0 && !read_opcode(scan, static_cast<std::uint8_t>(bytes.front()), dialect)) {
    why = Refusal::unknown_opcode;
    return Progress::refused;
  }
  const Shape& shape = shapes[static_cast<std::size_t>(scan.op)];
  if (!scan.counted) {
    scan.rounds = 1;
    if (shape.list) {
      scan.needed = scan.position + length_bytes;
      if (bytes.size() < scan.needed) return Progress::incomplete;
      scan.rounds = u64_at(bytes, scan.position);
      scan.position = scan.needed;
    }
    scan.counted = true;
    if (scan.rounds > limits.keys_per_request) why = Refusal::keys_per_request;
  }
  while (why == Refusal::none && scan.rounds > 0) {
    if (scan.field == shape.fields.size()) {
      scan.field = 0;
      --scan.rounds;
      continue;
    }
    const std::size_t size = field_size(shape.fields[scan.field], scan, bytes, limits, why);
    if (why != Refusal::none) break;
    if (size == 0) return Progress::incomplete;
    scan.needed = scan.position + size;
    if (scan.needed > limits.request_bytes) why = Refusal::request_bytes;
    if (bytes.size() < scan.needed && why == Refusal::none) return Progress::incomplete;
    scan.position = scan.needed;
    ++scan.field;
  }
  return why == Refusal::none ? Progress::complete : Progress::refused;
}

std::string refusal_text(Refusal refusal, const Limits& limits) {
  switch (refusal) {
    case Refusal::none:
      return "no reason";
    case Refusal::key_bytes:
      return fmt::format("a key is longer than the limit max-key, {} bytes", limits.key_bytes);
    case Refusal::value_bytes:
      return fmt::format("a value is longer than the limit max-value, {} bytes",
                         limits.value_bytes);
    case Refusal::keys_per_request:
      return fmt::format(
          "a request names, or the client watches, more keys than the limit max-keys-per-request, "
          "{}",
          limits.keys_per_request);
    case Refusal::request_bytes:
      return fmt::format("a request is longer than the limit max-request, {} bytes",
                         limits.request_bytes);
    case Refusal::total_bytes:
      return fmt::format("the store holds as much as the limit max-memory allows, {} bytes",
                         limits.total_bytes);
    case Refusal::connections:
      return fmt::format("there are as many connections as the limit max-connections allows, {}",
                         limits.connections);
    case Refusal::backlog_bytes:
      return fmt::format(
          "replies that the client has not read exceed the limit max-backlog, {} bytes",
          limits.backlog_bytes);
    case Refusal::open_files:
      return "no file descriptor is left; raise the limit (ulimit -n)";
    case Refusal::stranger:
      return "its first bytes are not those of a PyTorch client";
    case Refusal::unknown_opcode:
      return "it sent a request that no PyTorch client sends";
    case Refusal::not_a_number:
      return "it added to a key whose value is not a number";
    case Refusal::not_serving:
      return "the workers' store is not open now";
  }
  return "an unknown reason";
}

namespace requests {
namespace {

std::string opcode(Op op) {
  return std::string(1, static_cast<char>(op));
}

std::string list(Op op, std::span<const std::string> keys) {
  std::string request = opcode(op) + integer<std::uint64_t>(keys.size());
  for (const std::string& key : keys) request += counted(key);
  return request;
}

}  // namespace

std::string counted(std::string_view bytes) {
  return integer<std::uint64_t>(bytes.size()).append(bytes);
}

std::string validate() {
  return std::string(handshake);
}
std::string ping(std::uint32_t nonce) {
  return opcode(Op::ping) + integer(nonce);
}

std::string set(std::string_view key, std::string_view value) {
  return opcode(Op::set) + counted(key) + counted(value);
}
std::string get(std::string_view key) {
  return opcode(Op::get) + counted(key);
}
std::string add(std::string_view key, std::int64_t delta) {
  return opcode(Op::add) + counted(key) + integer(delta);
}
std::string check(std::span<const std::string> keys) {
  return list(Op::check, keys);
}
std::string wait(std::span<const std::string> keys) {
  return list(Op::wait, keys);
}
std::string multi_get(std::span<const std::string> keys) {
  return list(Op::multi_get, keys);
}
std::string cancel_wait() {
  return opcode(Op::cancel_wait);
}

}  // namespace requests

}  // namespace toprun::store
