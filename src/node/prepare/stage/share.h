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
#include "node/prepare/stage/place.h"

namespace toprun::stage {

// What this node has to give to others, between the thread that reads or receives it and those that
// send it.
//
//   empty --list()--> listed --open()--> open, while chunks are added
//   any --close()--> closed
class Share {
 public:
  // A manifest as it is sent.
  struct List {
    std::shared_ptr<const Manifest> manifest;
    std::string bytes;
    Hash digest;  // of its bytes
  };
  // Why there is nothing to give.
  struct Refusal {
    std::string why;
    bool for_all = false;  // no node has it: the source itself fails
  };

  void list(std::shared_ptr<const List> list);
  // `is_there`: by chunk. `is_source`: its files may change, so each is looked at once more.
  void open(Place place, std::vector<bool> is_there, bool is_source);
  void add(std::uint32_t chunk);
  void close(Refusal refusal);
  // This node waits for another job on it, whose copy may in turn depend on that of ours: a node
  // that asks goes to another node meanwhile.
  void set_waiting(bool waiting);
  // Ends all waits below, and whatever else asks stopped().
  void stop();
  bool stopped() const { return stopped_; }

  // Wait this long at most. A refusal is for good.
  std::shared_ptr<const List> list_within(std::chrono::milliseconds wait);
  bool has_within(std::uint32_t chunk, std::chrono::milliseconds wait);
  bool is_open_within(std::chrono::milliseconds wait);
  std::optional<Refusal> refusal() const;

  // Once it is open:
  const Place& place() const { return place_; }
  bool is_source() const { return is_source_; }

  // How much has been sent to others.
  std::atomic<std::uint64_t> sent_bytes{0};

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const List> list_;
  Place place_;
  std::vector<bool> is_there_;
  bool is_open_ = false;
  bool is_source_ = false;
  bool waiting_ = false;
  std::optional<Refusal> refusal_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace toprun::stage
