#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "node/prepare/stage/manifest.h"
#include "node/prepare/stage/open_tree.h"
#include "node/prepare/stage/wire.h"

namespace toprun::stage {

// The part of the staged environment that this node offers to other nodes. Used by the thread that
// reads or receives the data and by the threads that send it.
//
//   empty --list()--> listed --open()--> open, while chunks are added
//   any --close()--> closed
class Share {
 public:
  // A manifest, encoded as it is sent to other nodes.
  struct List {
    std::shared_ptr<const Manifest> manifest;
    std::string bytes;
    Hash digest;  // the hash of `bytes`
  };
  // Why this node has no data that it could offer to other nodes.
  struct Refusal {
    std::string why;
    bool for_all = false;  // no node has the data, because the source itself fails
  };

  void list(std::shared_ptr<const List> list);
  // `is_there`: indexed by chunk. `is_source`: `tree` is the original environment, whose files may
  // change, so each file is checked again.
  void open(OpenTree tree, std::vector<bool> is_there, bool is_source);
  void add(std::uint32_t chunk);
  void close(Refusal refusal);
  // Call set_waiting(true) while this node waits for another job on the same node that makes the
  // same copy. Meanwhile, other nodes do not wait for this node, because the two jobs could then
  // wait for each other on two nodes.
  void set_waiting(bool waiting);
  // Ends all waits in the functions below. Other code can check stopped().
  void stop();
  bool stopped() const { return stopped_; }

  // Each of the next three functions waits until the list is known, the chunk is present, or open()
  // has been called. After `wait`, the function returns null or false. A refusal is final.
  std::shared_ptr<const List> list_within(std::chrono::milliseconds wait);
  bool has_within(std::uint32_t chunk, std::chrono::milliseconds wait);
  bool is_open_within(std::chrono::milliseconds wait);
  std::optional<Refusal> refusal() const;

  // Valid after open().
  const OpenTree& tree() const { return tree_; }
  bool is_source() const { return is_source_; }

  // The number of bytes that were sent to other nodes.
  std::atomic<std::uint64_t> sent_bytes{0};

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const List> list_;
  OpenTree tree_;
  std::vector<bool> is_there_;
  bool is_open_ = false;
  bool is_source_ = false;
  bool waiting_ = false;
  std::optional<Refusal> refusal_;
  std::atomic<bool> stopped_ = false;
};

// A connection from another agent that asks for the environment. The two agents have already
// exchanged their preambles over its socket.
struct Visit {
  Fd socket;
  std::string their_line;  // includes the newline
  std::string our_line;
  std::string read_ahead = {};  // bytes already received after their line
};

// Answers the other agent until that agent has all data, disconnects, or is refused. Blocks.
void serve(Visit visit, Share& share, const Hash& key, const Waits& waits = {});

// Returns the hash with which one end of the connection proves that it has the key. `asks`: true
// for the hash of the agent that requests the environment, false for the hash of the agent that
// sends it.
Hash proof_of(const Hash& key, std::string_view their_line, std::string_view our_line, bool asks);

// The maximum number of connections that have not proved that they have the key. If there are more
// such connections, the oldest of them is closed. To block agents, an attacker would have to open
// this many connections in less time than a handshake takes; besides, agents retry.
inline constexpr std::size_t most_undecided = 4'096;
inline constexpr std::chrono::seconds undecided_limit{15};

// Checks the connections of agents that ask for the environment. Each agent has to prove that it
// has the key. Any process can connect to the port, so a connection gets a thread only after this
// proof. All code of an Entrance runs on the event loop.
class Entrance {
 public:
  // Called with each connection whose agent has proved that it has the key.
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
