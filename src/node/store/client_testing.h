#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/store/client.h"
#include "node/store/protocol.h"

namespace toprun::store {
namespace requests {

using KeyAndValue = std::pair<std::string_view, std::string_view>;

inline std::string code(Op op) {
  return std::string(1, static_cast<char>(op));
}

inline std::string compare_set(std::string_view key, std::string_view expected,
                               std::string_view desired) {
  return code(Op::compare_set) + counted(key) + counted(expected) + counted(desired);
}

inline std::string get_num_keys() {
  return code(Op::get_num_keys);
}

inline std::string delete_key(std::string_view key) {
  return code(Op::delete_key) + counted(key);
}

inline std::string append(std::string_view key, std::string_view value) {
  return code(Op::append) + counted(key) + counted(value);
}

inline std::string multi_set(std::span<const KeyAndValue> pairs) {
  std::string request = code(Op::multi_set) + integer<std::uint64_t>(pairs.size());
  for (const auto& [key, value] : pairs) request += counted(key) + counted(value);
  return request;
}

inline std::string queue_push(std::string_view queue, std::string_view value) {
  return code(Op::queue_push) + counted(queue) + counted(value);
}

inline std::string queue_pop(std::string_view queue) {
  return code(Op::queue_pop) + counted(queue);
}

inline std::string queue_len(std::string_view queue) {
  return code(Op::queue_len) + counted(queue);
}

inline std::string list_keys() {
  return code(Op::list_keys);
}

inline std::string barrier(std::string_view key, std::int64_t world_size) {
  return code(Op::barrier) + counted(key) + integer(world_size);
}

}  // namespace requests

// A client that can send the requests that programs of toprun do not send.
class TestClient : public Client {
 public:
  explicit TestClient(Client client) : Client(std::move(client)) {}

  Result<std::string> compare_set(std::string_view key, std::string_view expected,
                                  std::string_view desired) {
    return ask_counted(requests::compare_set(key, expected, desired));
  }

  Result<std::int64_t> num_keys() { return ask_integer(requests::get_num_keys()); }

  Result<bool> delete_key(std::string_view key) {
    const auto deleted = TRY(ask_integer(requests::delete_key(key)));
    return deleted != 0;
  }

  Result<void> append(std::string_view key, std::string_view value) {
    return send(requests::append(key, value));
  }

  Result<void> multi_set(std::span<const requests::KeyAndValue> pairs) {
    return send(requests::multi_set(pairs));
  }

  Result<void> queue_push(std::string_view queue, std::string_view value) {
    return send(requests::queue_push(queue, value));
  }

  Result<std::optional<std::string>> queue_pop(std::string_view queue) {
    const auto length = TRY(ask_integer(requests::queue_pop(queue)));
    if (length == 0) return std::nullopt;
    auto value = TRY(receive_counted());
    return std::move(value);
  }

  Result<std::int64_t> queue_len(std::string_view queue) {
    return ask_integer(requests::queue_len(queue));
  }

  Result<std::vector<std::string>> list_keys() {
    const auto count = TRY(ask_integer(requests::list_keys()));
    std::vector<std::string> keys;
    for (std::int64_t i = 0; i < count; ++i) {
      auto key = TRY(receive_counted());
      keys.push_back(std::move(key));
    }
    return keys;
  }

  Result<bool> barrier(std::string_view key, std::int64_t world_size,
                       std::chrono::milliseconds timeout) {
    return await(requests::barrier(key, world_size), timeout);
  }
};

}  // namespace toprun::store
