#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "node/prepare/stage/serve.h"

namespace toprun::stage {

// The maximum number of connections that have not shown the key. If there are more such
// connections, the oldest connection is closed. To block agents, an attacker would have to open
// this many connections in less time than a handshake takes; besides, agents retry.
inline constexpr std::size_t most_undecided = 4'096;
inline constexpr std::chrono::seconds undecided_limit{15};

// Receives the connections of agents that ask for the environment, until each connection has shown
// the key. Any process can connect to the port, so a connection gets a thread only after it has
// shown the key. All code of an Entrance runs on the event loop.
class Entrance {
 public:
  // Receives the connections that have shown the key.
  using Admit = std::function<void(Visit)>;

  Entrance(boost::asio::io_context& io, Admit admit, std::size_t most = most_undecided);
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  void enter(Visit visit);
  // Sets the key. Until then, all connections wait.
  void open(const Hash& key);

  struct State;

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace toprun::stage
