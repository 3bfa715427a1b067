#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "node/prepare/stage/serve.h"

namespace toprun::stage {

// That have not shown the key; beyond it the oldest is closed. Who wants to keep agents out has to
// fill it faster than a handshake takes, and agents ask again.
inline constexpr std::size_t most_undecided = 4'096;
inline constexpr std::chrono::seconds undecided_limit{15};

// Receives the connections of those who ask for the environment, until they have shown the key:
// any process can reach the port, so none of them has a thread yet. Everything runs on the event
// loop.
class Entrance {
 public:
  // Gets those who have shown the key.
  using Admit = std::function<void(Visit)>;

  Entrance(boost::asio::io_context& io, Admit admit, std::size_t most = most_undecided);
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  void enter(Visit visit);
  // Until the key is known, all wait.
  void open(const Hash& key);

  struct State;

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace toprun::stage
