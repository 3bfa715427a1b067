#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include "machine/meter/usage.h"

namespace toprun::meter {

// Measures the resource usage of ranks and of this host. Each measurement reads a few files in
// /proc and /sys for each process and may block. So call look() on the pool, from one thread at a
// time.
class Meter {
 public:
  // `root`: the folder that contains proc and sys.
  explicit Meter(std::filesystem::path root = "/");

  // `ranks`: process ids on this host by local rank; 0: unknown. Rates are averages since the
  // previous call.
  Node look(std::span<const pid_t> ranks);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // Counters that only increase; rates are computed from them.
  struct Totals {
    std::uint64_t busy_ticks = 0;  // for the host's CPUs
    std::uint64_t received_bytes = 0, sent_bytes = 0;
  };
  Rank rank(pid_t pid, double seconds);
  Host host(double seconds);
  Totals totals() const;

  std::filesystem::path root_;
  Time last_{};
  std::map<pid_t, std::uint64_t> ticks_;  // of the ranks, at the previous measurement
  std::map<pid_t, std::uint64_t> now_;    // of the ranks, at this measurement
  std::optional<Totals> totals_;
};

}  // namespace toprun::meter
