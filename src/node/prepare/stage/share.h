#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/prepare/stage/hash.h"
#include "node/prepare/stage/manifest.h"
#include "node/prepare/stage/open_tree.h"

namespace toprun::stage {

// The data that this node offers to other nodes. A Share is used by the thread that reads or
// receives the data and by the threads that send it.
//
//   empty --list()--> listed --open()--> open, while chunks are added
//   any --close()--> closed
class Share {
 public:
  // A manifest in the form in which it is sent.
  struct List {
    std::shared_ptr<const Manifest> manifest;
    std::string bytes;
    Hash digest;  // the hash of `bytes`
  };
  // Why this node has no data to offer.
  struct Refusal {
    std::string why;
    bool for_all = false;  // no node has the data, because the source itself fails
  };

  void list(std::shared_ptr<const List> list);
  // `is_there`: indexed by chunk. `is_source`: the files may change, so each file is checked again.
  void open(OpenTree tree, std::vector<bool> is_there, bool is_source);
  void add(std::uint32_t chunk);
  void close(Refusal refusal);
  // True while this node waits for another job on the same node, which makes the same copy. Perhaps
  // that job waits for our job on another node. So while this node waits, other nodes do not wait
  // for this node.
  void set_waiting(bool waiting);
  // Ends all waits in the functions below. Other code can check stopped().
  void stop();
  bool stopped() const { return stopped_; }

  // Each of these functions waits for at most `wait`. A refusal is final.
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

}  // namespace toprun::stage
