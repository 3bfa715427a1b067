#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "node/store/key_map.h"
#include "node/store/memory.h"
#include "node/store/store_output.h"

namespace toprun::store {

// A connection that can wait for keys in the keyspace. A Waiter must be destroyed before the
// keyspace.
class Waiter {
 public:
  // Delivers a reply that is due because of another connection's request. Must not call the
  // keyspace.
  virtual void deliver(std::string_view reply) = 0;
  virtual void deliver(const Output& message) = 0;
  // Cancels all waits and watches of this connection.
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

// The contents of the store: keys, queues, and the clients that wait for them. Every operation has
// the same meaning as in PyTorch's libuv server. Operations that need memory return false, and
// change nothing, if there is not enough memory.
class Keyspace {
 public:
  enum class Added : std::uint8_t { done, not_a_number, no_memory };

  explicit Keyspace(Ledger& ledger) : ledger_(ledger) {}

  const Value* find(std::string_view key) const;
  // Whether the key exists, or a queue with this name exists and is not empty.
  bool present(std::string_view key) const;
  std::size_t size() const { return values_.size(); }
  template <class Visit>
  void for_each_key(Visit visit) const {
    values_.for_each_key(visit);
  }

  // The maximum number of bytes that set() may add to the ledger.
  static std::size_t cost(std::string_view key, std::string_view value);
  bool fits(std::size_t cost) const { return ledger_.fits(cost); }
  // Stores the value and wakes waiting clients. The caller must have checked that the value fits.
  void set(std::string_view key, std::string_view bytes);
  bool append(std::string_view key, std::string_view bytes);
  // Values are decimal text. An absent value counts as 0. The sum wraps around on overflow.
  Added add(std::string_view key, std::int64_t delta, std::int64_t& sum, bool wake = true);
  bool erase(std::string_view key);
  void wake(std::string_view key);

  bool push(std::string_view queue, std::string_view bytes);  // wakes one waiter
  // Null if the queue is empty. The result is valid until pop().
  const Value* front(std::string_view queue) const;
  void pop(std::string_view queue);
  std::size_t queue_size(std::string_view queue) const;

  // Registers a wait until all keys are present. When all keys are present, the connection receives
  // `stop_waiting`. A connection has at most one wait. A new wait replaces the last.
  bool park(Waiter& waiter, std::span<const std::string_view> absent_keys);
  static void cancel_wait(Waiter& waiter);

  // The request WATCH_KEY of protocol generation A (protocol.h).
  bool watch(Waiter& waiter, std::string_view key);
  std::size_t watched_by(const Waiter& waiter) const;
  // Null if no client watches the key.
  const std::unordered_set<Waiter*>* watchers(std::string_view key) const;

  // Frees at most `budget` keys and queued values. Returns true when everything is freed. After the
  // first call, no other method may be called, and no client may wait or watch.
  bool dissolve(std::size_t budget);

 private:
  friend struct Waiter::Wait;
  friend struct Waiter::Watch;
  struct Link;
  struct Entry {
    Charge charge;  // the charge for the key and the map's node
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
