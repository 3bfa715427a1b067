#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/store/protocol.h"

namespace toprun::store {

// A blocking client of a TCPStore server. The client uses generation F of the protocol
// (PyTorch 2.10 and later). Keys are sent unchanged, without the "/" that PyTorch's own client puts
// before them. After an error other than a time-out of wait(), the connection must not be used any
// more.
class Client {
 public:
  // Connects within `timeout`. Every later reply must also arrive within `timeout`.
  static Result<Client> connect(const hosts::Address& address, int port,
                                std::chrono::milliseconds timeout);

  Result<void> set(std::string_view key, std::string_view value);
  // Returns the value of the key, or "" if the key is absent. Does not wait for the key.
  Result<std::string> get(std::string_view key);
  Result<std::int64_t> add(std::string_view key, std::int64_t delta);
  Result<bool> check(std::span<const std::string> keys);
  // Waits until all keys are set. False if `timeout` passes first; the wait is then cancelled.
  Result<bool> wait(std::span<const std::string> keys, std::chrono::milliseconds timeout);
  Result<std::vector<std::string>> multi_get(std::span<const std::string> keys);
  Result<void> ping();

  // send() and receive() are for requests that have no function in this class. send() sends the
  // bytes unchanged; receive() waits for exactly `bytes` bytes.
  Result<void> send(std::string_view bytes);
  Result<std::string> receive(std::size_t bytes);

  const Fd& socket() const { return socket_; }

 protected:
  Result<std::string> receive_counted();
  Result<std::int64_t> ask_integer(std::string_view request);
  Result<std::string> ask_counted(std::string_view request);
  Result<bool> await(std::string_view request, std::chrono::milliseconds timeout);

 private:
  Client(Fd socket, std::chrono::milliseconds timeout)
      : socket_(std::move(socket)), timeout_(timeout) {}

  template <class Integer>
  Result<Integer> receive_integer();
  Result<bool> ready(short events, std::chrono::milliseconds timeout);

  Fd socket_;
  std::chrono::milliseconds timeout_;
};

}  // namespace toprun::store
