#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/outside.h"

// What ranks and their hosts use.
namespace toprun::meter {

struct Gpu {
  // Of the time in which a kernel ran, 0 to 100; unset: the driver does not tell, as with MIG.
  std::optional<int> percent;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_total_bytes = 0;

  bool operator==(const Gpu&) const = default;
};

inline constexpr std::size_t longest_last_line = 200;  // bytes
inline constexpr std::size_t most_last_lines = 5;

// A rank, with the processes below it.
struct Rank {
  std::optional<double> cpus;  // busy on average since the look before; unset at the first
  std::optional<std::uint64_t> memory_bytes;              // resident; what they share counts twice
  std::optional<std::chrono::milliseconds> silence = {};  // since its last output; unset: none yet
  std::optional<Gpu> gpu = {};
  // What its output shows last, without secrets; longest_last_line at most. Empty: none, or not
  // told.
  Outside last_line = {};
  int pid = 0;  // on its host; 0: it has ended, or it is not known
  // Its last lines, as last_line each; most_last_lines at most. Empty: none, or not told.
  std::vector<Outside> last_lines = {};

  bool operator==(const Rank&) const = default;
};

struct Host {
  int cpus = 0;
  std::optional<double> busy_cpus;  // on average since the look before
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_total_bytes = 0;
  // By its network and RDMA adapters, on average since the look before.
  std::optional<double> received_bytes_per_s;
  std::optional<double> sent_bytes_per_s;

  bool operator==(const Host&) const = default;
};

struct Node {
  Host host;
  std::vector<Rank> ranks;  // by local rank

  bool operator==(const Node&) const = default;
};

}  // namespace toprun::meter
