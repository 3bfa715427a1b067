#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "node/store/key_hash.h"

namespace toprun::store {

// A map from keys to T. The address of a T stays the same while its key is in the map.
//
// The map is a flat table of hashes and pointers. A lookup of an absent key costs one cache miss;
// in a table with chains, it costs two or three. When the table grows, keys and values are not
// moved. Lookups have to be fast: a request with 100,000 keys is executed without interruption
// while other clients wait.
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
  // Frees at most `budget` entries. `shrink(value, budget)` frees parts of a value and subtracts
  // their number from `budget`. shrink() returns true when the rest can be freed at once, false if
  // another call is needed. dissolve() returns true when all entries are freed. After the first
  // call, the map must not be used for anything else.
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

}  // namespace toprun::store
