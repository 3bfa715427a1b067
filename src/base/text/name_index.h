#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace toprun {

// An index of the names in a list that the caller owns: an open hash table of positions, at most
// half full. A std::unordered_map would be slower, because it allocates a node per name: for lists
// of 100,000 names, that would take longer than the rest of the work. `name_at(i)` returns the
// list's name at position i; all positions are below 2³²−1.
class NameIndex {
 public:
  void expect(std::size_t names) {
    std::size_t slots = slots_.size();
    while (slots < 2 * names + 2) slots *= 2;
    if (slots > slots_.size()) rehash(slots);
  }

  template <class NameAt>
  std::optional<std::size_t> find(std::string_view name, const NameAt& name_at) const {
    const Slot& slot = slots_[slot_of(name, hash_of(name), name_at)];
    return slot.position == 0 ? std::nullopt : std::optional<std::size_t>(slot.position - 1);
  }

  // Records the name's `position`. Returns `position` and true. If the name is already in the
  // index, returns its first position and false.
  template <class NameAt>
  std::pair<std::size_t, bool> add(std::string_view name, std::size_t position,
                                   const NameAt& name_at) {
    if (2 * (count_ + 1) > slots_.size()) rehash(2 * slots_.size());
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[slot_of(name, hash, name_at)];
    if (slot.position != 0) return {slot.position - 1, false};
    slot = {hash, static_cast<std::uint32_t>(position + 1)};
    ++count_;
    return {position, true};
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = 0;  // counted from 1; 0: the slot is free
  };

  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }

  // Returns the index of the slot that contains the name, or of the free slot in which to store it.
  template <class NameAt>
  std::size_t slot_of(std::string_view name, std::uint32_t hash, const NameAt& name_at) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].position != 0 &&
           (slots_[i].hash != hash || name_at(slots_[i].position - 1) != name)) {
      i = (i + 1) & mask;
    }
    return i;
  }

  void rehash(std::size_t size) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    for (const Slot& slot : old) {
      if (slot.position == 0) continue;
      std::size_t i = slot.hash & (size - 1);
      while (slots_[i].position != 0) i = (i + 1) & (size - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two
  std::size_t count_ = 0;
};

}  // namespace toprun
