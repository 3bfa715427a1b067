#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/outside.h"

// Resource usage of ranks and their hosts.
namespace toprun::meter {

struct Gpu {
  // The percentage of the time in which a kernel ran on the GPU. Unset: the driver does not report
  // this percentage, for example on a GPU that is split by MIG.
  std::optional<int> percent;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_total_bytes = 0;

  bool operator==(const Gpu&) const = default;
};

inline constexpr std::size_t longest_last_line = 200;  // bytes
inline constexpr std::size_t most_last_lines = 5;

// A rank, including its descendant processes.
struct Rank {
  std::optional<double> cpus;  // average number of busy CPUs since the previous measurement; unset
                               // at the first measurement
  std::optional<std::uint64_t> memory_bytes;              // resident memory; memory that two
                                                          // processes share counts twice
  std::optional<std::chrono::milliseconds> silence = {};  // since its last output; unset: no output
                                                          // yet
  std::optional<Gpu> gpu = {};
  // The last line that the rank's output shows, without secrets, at most longest_last_line. Empty:
  // the rank has printed nothing, or the line was not requested.
  Outside last_line = {};
  int pid = 0;  // process id on the host; 0: the rank has ended, or its id is unknown
  // The rank's last lines, each like last_line, at most most_last_lines. Empty: the rank has
  // printed nothing, or the lines were not requested.
  std::vector<Outside> last_lines = {};

  bool operator==(const Rank&) const = default;
};

struct Host {
  int cpus = 0;
  std::optional<double> busy_cpus;  // average since the previous measurement
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_total_bytes = 0;
  // The traffic through network and RDMA adapters, average since the previous measurement.
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
