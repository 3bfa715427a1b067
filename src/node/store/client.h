#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/store/requests.h"

namespace toprun::store {

// A blocking client of a TCPStore server, for tests and tools. The client uses generation F of the
// protocol (PyTorch 2.10 and later). Keys are sent unchanged, without the "/" that PyTorch's own
// client puts before them. After an error other than a time-out of wait() or barrier(), the
// connection must not be used any more.
class Client {
 public:
  // Every later reply must also arrive within `timeout`.
  static Result<Client> connect(const hosts::Address& address, int port,
                                std::chrono::milliseconds timeout);

  Result<void> set(std::string_view key, std::string_view value);
  Result<std::string> compare_set(std::string_view key, std::string_view expected,
                                  std::string_view desired);
  // Does not wait for the key. For an absent key, the result is "".
  Result<std::string> get(std::string_view key);
  Result<std::int64_t> add(std::string_view key, std::int64_t delta);
  Result<bool> check(std::span<const std::string_view> keys);
  // False if some key was not set in time; the wait is cancelled in this case.
  Result<bool> wait(std::span<const std::string_view> keys, std::chrono::milliseconds timeout);
  Result<std::int64_t> num_keys();
  Result<bool> delete_key(std::string_view key);
  Result<void> append(std::string_view key, std::string_view value);
  Result<std::vector<std::string>> multi_get(std::span<const std::string_view> keys);
  Result<void> multi_set(std::span<const requests::KeyAndValue> pairs);
  Result<void> queue_push(std::string_view queue, std::string_view value);
  Result<std::optional<std::string>> queue_pop(std::string_view queue);
  Result<std::int64_t> queue_len(std::string_view queue);
  Result<std::vector<std::string>> list_keys();
  // Returns false if not all clients arrived in time.
  Result<bool> barrier(std::string_view key, std::int64_t world_size,
                       std::chrono::milliseconds timeout);
  Result<void> ping();

  // For requests that have no function in this class. send() sends the bytes unchanged. receive()
  // waits for exactly `bytes` bytes.
  Result<void> send(std::string_view bytes);
  Result<std::string> receive(std::size_t bytes);

  const Fd& socket() const { return socket_; }

 private:
  Client(Fd socket, std::chrono::milliseconds timeout)
      : socket_(std::move(socket)), timeout_(timeout) {}

  template <class Integer>
  Result<Integer> receive_integer();
  Result<std::string> receive_counted();
  Result<std::int64_t> ask_integer(std::string_view request);
  Result<std::string> ask_counted(std::string_view request);
  Result<bool> await(std::string_view request, std::chrono::milliseconds timeout);
  Result<bool> ready(short events, std::chrono::milliseconds timeout);

  Fd socket_;
  std::chrono::milliseconds timeout_;
};

}  // namespace toprun::store
