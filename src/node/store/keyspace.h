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
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "node/store/store_output.h"

namespace toprun::store {

// Hashes keys by SipHash-2-4 with a random key per process. With a predictable hash, a client could
// create keys that all fall into one bucket, and the time for n such keys would grow as n².
struct KeyHash {
  using is_avalanching = void;  // the bits are well mixed already

  std::size_t operator()(std::string_view key) const;
};

// A map from keys to T. The address of a T stays the same while its key is in the map.
//
// The map is a flat table of hashes and pointers. A lookup of an absent key costs one cache miss;
// in a table with chains, it costs two or three. When the table grows, keys and values are not
// moved. Lookups have to be fast, because a request with 100,000 keys is executed without
// interruption while other clients wait.
template <class T>
class KeyMap {
 public:
  T* find(std::string_view key) {
    const auto found = table_.find(Key(key));
    return found == table_.end() ? nullptr : &found->second->value;
  }
  const T* find(std::string_view key) const { return const_cast<KeyMap*>(this)->find(key); }

  // The key must be absent.
  template <class... Arguments>
  T& insert(std::string_view key, Arguments&&... arguments) {
    auto node = std::make_unique<Node>(key, std::forward<Arguments>(arguments)...);
    T& value = node->value;
    const Key stored(node->key);
    table_.emplace(stored, std::move(node));
    return value;
  }
  template <class... Arguments>
  T& find_or_insert(std::string_view key, Arguments&&... arguments) {
    T* const found = find(key);
    return found ? *found : insert(key, std::forward<Arguments>(arguments)...);
  }

  bool erase(std::string_view key) { return table_.erase(Key(key)) > 0; }
  // Frees at most `budget` entries; returns true when all entries are freed. `shrink(value,
  // budget)` frees parts of a value and subtracts their number from `budget`; it returns true when
  // the rest can be freed at once, false if another call is needed. After the first call of
  // dissolve(), the map must not be used for anything else.
  template <class Shrink>
  bool dissolve(std::size_t& budget, Shrink shrink) {
    if (!dissolving_) dissolving_ = table_.begin();
    for (auto& entry = *dissolving_; entry != table_.end(); ++entry) {
      if (budget == 0 || !shrink(entry->second->value, budget)) return false;
      --budget;
      entry->second.reset();
    }
    return true;
  }
  std::size_t size() const { return table_.size(); }
  bool empty() const { return table_.empty(); }
  template <class Visit>
  void for_each_key(Visit visit) const {
    for (const auto& [key, node] : table_) visit(key.text);
  }

 private:
  struct Node {
    std::string key;
    T value;

    template <class... Arguments>
    explicit Node(std::string_view text, Arguments&&... arguments)
        : key(text), value(std::forward<Arguments>(arguments)...) {}
  };
  struct Key {
    std::string_view text;
    std::size_t hash;

    explicit Key(std::string_view its_text) : text(its_text), hash(KeyHash()(its_text)) {}
    bool operator==(const Key& other) const { return hash == other.hash && text == other.text; }
  };
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  using Table = boost::unordered_flat_map<Key, std::unique_ptr<Node>, Hash>;

  Table table_;
  std::optional<typename Table::iterator> dissolving_;  // the first entry that is not freed yet
};

// A client's connection that can wait until keys are set in the keyspace. A Waiter must be
// destroyed before the keyspace.
class Waiter {
 public:
  // Sends this connection a reply that another connection's request has caused. Must not call the
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
  // Like find(), but large replies share the value even if it is smaller than shared_value_bytes.
  const Value* find_to_share(std::string_view key);
  // Whether the key exists, or a queue with this name exists and is not empty.
  bool present(std::string_view key) const;
  std::size_t size() const { return values_.size(); }
  template <class Visit>
  void for_each_key(Visit visit) const {
    values_.for_each_key(visit);
  }

  // Returns the maximum number of bytes that set() may add to the ledger (the count of used
  // memory).
  static std::size_t cost(std::string_view key, std::string_view value);
  bool fits(std::size_t cost) const { return ledger_.fits(cost); }
  // Stores the value and wakes waiting clients. The caller must have checked that the value fits
  // (fits()).
  void set(std::string_view key, std::string_view bytes);
  bool append(std::string_view key, std::string_view bytes);
  // Adds `delta` to the key's value, which is decimal text. An absent value counts as 0. The sum
  // wraps around on overflow. `wake`: whether to wake the clients that wait for the key.
  Added add(std::string_view key, std::int64_t delta, std::int64_t& sum, bool wake = true);
  bool erase(std::string_view key);
  void wake(std::string_view key);

  bool push(std::string_view queue, std::string_view bytes);  // wakes one waiter
  // Returns the first value of the queue, valid until pop(); null if the queue is empty.
  const Value* front(std::string_view queue) const;
  void pop(std::string_view queue);
  std::size_t queue_size(std::string_view queue) const;

  // Registers that the connection waits for these keys. When all keys are present, the connection
  // receives the reply `stop_waiting`. A connection has at most one wait, because a new wait
  // replaces the previous one.
  bool park(Waiter& waiter, std::span<const std::string_view> absent_keys);
  static void cancel_wait(Waiter& waiter);

  // Executes the request WATCH_KEY of protocol generation A (protocol.h).
  bool watch(Waiter& waiter, std::string_view key);
  std::size_t watched_by(const Waiter& waiter) const;
  // Returns the clients that watch the key; null if there are none.
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
