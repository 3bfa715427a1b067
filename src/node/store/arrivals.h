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

// The store's information about one rank.
struct Arrival {
  std::string address;        // the address of the rank's host; empty: the store's own host
  std::uint32_t pid = 0;      // in the rank's PID namespace; 0: PyTorch up to 2.5 does not send the
                              // id
  std::optional<int> rank{};  // the rank number, if a key of the rank contains this number
  SteadyTime joined{};        // when the rank added itself to the count of workers
  std::optional<SteadyTime> met{};  // when the rank first asked for a key of a process group
};

// The ranks of an attempt that have connected to the store: at most `expected`, the number of ranks
// in the job. Each process counts once, even if it opens several connections.
class Arrivals {
 public:
  explicit Arrivals(std::size_t expected = 0) : expected_(expected) {}

  // Adds a process that has connected, and returns the index of its entry. nullopt if the process
  // is known already, or all ranks have joined.
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
  // Hashes of address and pid. This set is emptied when all ranks have joined.
  std::unordered_set<std::uint64_t> processes_;
};

// The key to which every PyTorch client adds 1 after it has connected.
inline constexpr std::string_view workers_key = "init/";
// Whether PyTorch itself created the key for a process group ("/default_pg/0//cuda//0"). Other keys
// come from the user's script.
bool is_of_a_process_group(std::string_view key);
// Returns the rank number in this key; nullopt for keys without one. Only keys that every rank of
// the default group sets contain a rank: Gloo's "/default_pg/0//cpu//0/3" and PyTorch 1.13's
// "//worker/attempt_0/default_pg/0/0/rank_3".
std::optional<int> rank_named_by(std::string_view key);

}  // namespace toprun::store
