#include "node/store/requests.h"

#include "node/store/protocol.h"

namespace toprun::store::requests {
namespace {

std::string opcode(Op op) {
  return std::string(1, static_cast<char>(op));
}

std::string list(Op op, std::span<const std::string_view> keys) {
  std::string request = opcode(op) + integer<std::uint64_t>(keys.size());
  for (const std::string_view key : keys) request += counted(key);
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
std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
  return opcode(Op::compare_set) + counted(key) + counted(expected) + counted(desired);
}
std::string get(std::string_view key) {
  return opcode(Op::get) + counted(key);
}
std::string add(std::string_view key, std::int64_t delta) {
  return opcode(Op::add) + counted(key) + integer(delta);
}
std::string check(std::span<const std::string_view> keys) {
  return list(Op::check, keys);
}
std::string wait(std::span<const std::string_view> keys) {
  return list(Op::wait, keys);
}
std::string get_num_keys() {
  return opcode(Op::get_num_keys);
}
std::string delete_key(std::string_view key) {
  return opcode(Op::delete_key) + counted(key);
}
std::string append(std::string_view key, std::string_view value) {
  return opcode(Op::append) + counted(key) + counted(value);
}
std::string multi_get(std::span<const std::string_view> keys) {
  return list(Op::multi_get, keys);
}
std::string multi_set(std::span<const KeyAndValue> pairs) {
  std::string request = opcode(Op::multi_set) + integer<std::uint64_t>(pairs.size());
  for (const auto& [key, value] : pairs) request += counted(key) + counted(value);
  return request;
}
std::string cancel_wait() {
  return opcode(Op::cancel_wait);
}
std::string queue_push(std::string_view queue, std::string_view value) {
  return opcode(Op::queue_push) + counted(queue) + counted(value);
}
std::string queue_pop(std::string_view queue) {
  return opcode(Op::queue_pop) + counted(queue);
}
std::string queue_len(std::string_view queue) {
  return opcode(Op::queue_len) + counted(queue);
}
std::string list_keys() {
  return opcode(Op::list_keys);
}
std::string barrier(std::string_view key, std::int64_t world_size) {
  return opcode(Op::barrier) + counted(key) + integer(world_size);
}

}  // namespace toprun::store::requests
