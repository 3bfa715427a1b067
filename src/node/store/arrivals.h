#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/text/clock.h"

namespace toprun::store {

// One rank as the store sees it.
struct Arrival {
  std::string address;    // of its host; empty: the store's own
  std::uint32_t pid = 0;  // in its own PID namespace; 0: its PyTorch does not send it (up to 2.5)
  std::optional<int> rank{};        // if one of its keys names it
  SteadyTime joined{};              // when it added itself to the count of workers
  std::optional<SteadyTime> met{};  // when it first asked for a key of a process group
};

// Who of an attempt's ranks has come to the store. Bounded by their number; one process counts
// once, however many connections it makes.
class Arrivals {
 public:
  explicit Arrivals(std::size_t expected = 0) : expected_(expected) {}

  // The new entry's index; nullopt: the process is known, or all are here.
  std::optional<std::size_t> joined(std::string address, std::uint32_t pid, SteadyTime now);
  void met(std::size_t index, std::optional<int> rank, SteadyTime now);

  bool all_joined() const { return expected_ > 0 && ranks_.size() == expected_; }
  bool all_met() const { return all_joined() && met_ == expected_; }
  std::size_t met_count() const { return met_; }
  const std::vector<Arrival>& ranks() const { return ranks_; }  // in the order of joining

 private:
  std::size_t expected_;
  std::size_t met_ = 0;
  std::vector<Arrival> ranks_;
  std::unordered_set<std::uint64_t> processes_;  // hashes of address and pid, until all are here
};

// The key that every PyTorch client adds 1 to when it has connected.
inline constexpr std::string_view workers_key = "init/";
// Whether PyTorch made the key for a process group ("/default_pg/0//cuda//0"), as opposed to keys
// of the script.
bool is_of_a_process_group(std::string_view key);
// The rank whose key this is, if it is a key that every rank of the default group sets (Gloo's
// "/default_pg/0//cpu//0/3", PyTorch 1.13's "//worker/attempt_0/default_pg/0/0/rank_3").
std::optional<int> rank_named_by(std::string_view key);

}  // namespace toprun::store
