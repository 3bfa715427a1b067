#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// Encodes requests of generations C to F. The format is described in node/store/protocol.h.
namespace toprun::store::requests {

using KeyAndValue = std::pair<std::string_view, std::string_view>;

std::string validate();
std::string ping(std::uint32_t nonce);
std::string set(std::string_view key, std::string_view value);
std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired);
std::string get(std::string_view key);
std::string add(std::string_view key, std::int64_t delta);
std::string check(std::span<const std::string_view> keys);
std::string wait(std::span<const std::string_view> keys);
std::string get_num_keys();
std::string delete_key(std::string_view key);
std::string append(std::string_view key, std::string_view value);
std::string multi_get(std::span<const std::string_view> keys);
std::string multi_set(std::span<const KeyAndValue> pairs);
std::string cancel_wait();
std::string queue_push(std::string_view queue, std::string_view value);
std::string queue_pop(std::string_view queue);
std::string queue_len(std::string_view queue);
std::string list_keys();
std::string barrier(std::string_view key, std::int64_t world_size);

// Encodes the length as a u64, then the bytes.
std::string counted(std::string_view bytes);
// Encodes the number in little-endian order, with the size of its type.
template <class Integer>
std::string integer(Integer number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace toprun::store::requests
