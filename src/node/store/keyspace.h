#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "node/store/key_map.h"
#include "node/store/memory.h"
#include "node/store/store_output.h"

namespace toprun::store {

// One connection as the keyspace sees it. It must go before the keyspace does.
class Waiter {
 public:
  // A reply that some other connection's request made due. Must not call the keyspace.
  virtual void deliver(std::string_view reply) = 0;
  virtual void deliver(const Output& message) = 0;
  // It waits for and watches nothing any more.
  void forget();

 protected:
  Waiter();
  ~Waiter();

 private:
  friend class Keyspace;
  struct Wait;
  struct Watch;
  std::unique_ptr<Wait> wait_;
  std::unique_ptr<Watch> watch_;
};

// What the store holds: keys, queues, and which client waits for which. Every operation has the
// meaning it has in PyTorch's libuv server. Operations that take memory say whether there was
// enough of it, and change nothing if not.
class Keyspace {
 public:
  enum class Added : std::uint8_t { done, not_a_number, no_memory };

  explicit Keyspace(Ledger& ledger) : ledger_(ledger) {}

  const Value* find(std::string_view key) const;
  // A key, or a queue that is not empty.
  bool present(std::string_view key) const;
  std::size_t size() const { return values_.size(); }
  template <class Visit>
  void for_each_key(Visit visit) const {
    values_.for_each_key(visit);
  }

  // What set() may add to the ledger at most.
  static std::size_t cost(std::string_view key, std::string_view value);
  bool fits(std::size_t cost) const { return ledger_.fits(cost); }
  // Stores and wakes; the caller has seen that it fits.
  void set(std::string_view key, std::string_view bytes);
  bool append(std::string_view key, std::string_view bytes);
  // Values are decimal text; an absent one counts as 0; wraps around as two's complement.
  Added add(std::string_view key, std::int64_t delta, std::int64_t& sum, bool wake = true);
  bool erase(std::string_view key);
  void wake(std::string_view key);

  bool push(std::string_view queue, std::string_view bytes);  // wakes one waiter
  // Null if the queue is empty; valid until pop().
  const Value* front(std::string_view queue) const;
  void pop(std::string_view queue);
  std::size_t queue_size(std::string_view queue) const;

  // Parks until all keys are present: `stop_waiting` is then delivered. A connection waits for one
  // thing at a time: a new wait takes the place of the last.
  bool park(Waiter& waiter, std::span<const std::string_view> absent_keys);
  static void cancel_wait(Waiter& waiter);

  // Generation A's WATCH_KEY.
  bool watch(Waiter& waiter, std::string_view key);
  std::size_t watched_by(const Waiter& waiter) const;
  // Null if no client watches the key.
  const std::unordered_set<Waiter*>* watchers(std::string_view key) const;

  // Frees at most `budget` of its keys and queued values; true when none is left. What it does
  // after the first call is this alone, and no client may wait or watch any more.
  bool dissolve(std::size_t budget);

 private:
  friend struct Waiter::Wait;
  friend struct Waiter::Watch;
  struct Link;
  struct Entry {
    Charge charge;  // of the key and the node
    Value value;
    Entry(Ledger& ledger, std::string_view key);
  };
  struct Queue {
    Charge charge;
    std::deque<Value> values;
    explicit Queue(Ledger& ledger) : charge(ledger) {}
  };
  struct WaitList {
    Link* first = nullptr;
    Link* last = nullptr;
    std::string key;

    explicit WaitList(std::string_view its_key) : key(its_key) {}
  };

  Value& value_of(std::string_view key);
  static void release(Waiter& waiter);
  static void charge_for(Queue& queue, std::string_view key);
  static void unlink(Link& link);

  Ledger& ledger_;
  KeyMap<Entry> values_;
  KeyMap<Queue> queues_;
  KeyMap<WaitList> waiting_;
  KeyMap<std::unordered_set<Waiter*>> watching_;
};

}  // namespace toprun::store
