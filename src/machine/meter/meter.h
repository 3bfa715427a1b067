#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "machine/meter/usage.h"

namespace toprun::meter {

// Reads what ranks and this host use. A look reads a few files of /proc and /sys for each process
// and may block: use it on the pool, from one thread at a time.
class Meter {
 public:
  // `root`: the folder that holds proc and sys.
  explicit Meter(std::filesystem::path root = "/");

  // `ranks`: their processes on this host, by local rank; 0: unknown. Rates count from the look
  // before.
  Node look(std::span<const pid_t> ranks);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // Counters that only grow, from which rates are made.
  struct Totals {
    std::uint64_t busy_ticks = 0;  // of the host's CPUs
    std::uint64_t received_bytes = 0, sent_bytes = 0;
  };
  Rank rank(pid_t pid, double seconds);
  Host host(double seconds);
  Totals totals() const;

  std::filesystem::path root_;
  Time last_{};
  std::map<pid_t, std::uint64_t> ticks_;  // of the ranks at the last look
  std::map<pid_t, std::uint64_t> now_;    // … and at this one
  std::optional<Totals> totals_;
};

}  // namespace toprun::meter
