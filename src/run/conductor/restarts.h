#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "run/conductor/roster.h"
#include "run/conductor/settings.h"
#include "run/conductor/verdict.h"

namespace toprun::run {

// A worker that exits with this code requests no restart (as in NVIDIA's ft_launcher).
inline constexpr int no_restart_exit_code = 93;
// After this many early failures of the same kind in a row, a restart is pointless. Early failures
// are instant ones (run/conductor/settings.h), and failed imports before all ranks had reached the
// store. A restart is also pointless with a node that was lost this often in short lives.
inline constexpr int hopeless_after = 3;
// After the second attempt in a row that lived shorter than this, further attempts start after a
// pause, which doubles each time. The first loss of a node since the last long life causes no
// pause.
inline constexpr std::chrono::milliseconds short_life{10'000};
inline constexpr std::chrono::milliseconds first_pause{1'000};
inline constexpr std::chrono::milliseconds longest_pause{30'000};

// Decides whether another attempt follows one that ended; performs no I/O. Failures use up
// --max-restarts; members that are lost, leave or join do not.
class Restarts {
 public:
  Restarts(Size size, int max_restarts, std::chrono::milliseconds instant_failure = instant)
      : size_(size), max_restarts_(max_restarts), instant_(instant_failure) {}

  struct Next {
    bool again = false;
    std::chrono::milliseconds pause{0};
    std::string words;  // the decision or its reason; empty if there is nothing to report
    std::string lost_too_often = {};  // the node that makes a restart pointless
  };
  // How far an attempt got before it ended.
  struct Life {
    // From the workers' start to the first failure or the order to end; unset: they never started.
    std::optional<std::chrono::milliseconds> lasted;
    bool has_met = false;  // all ranks had reached the store
  };
  Next after(const Verdict& verdict, Life life);

  // TORCHELASTIC_RESTART_COUNT: the number of failures so far after which another attempt followed.
  int count() const { return count_; }

 private:
  Next after_failure(const Verdict& verdict, Life life);
  bool is_early(const Verdict& verdict, Life life) const;
  Next after_loss(const Verdict& verdict);
  void count_life(std::optional<std::chrono::milliseconds> lived);
  void pause_before(Next& next) const;
  bool survives_a_loss() const { return size_.repairable; }

  Size size_;
  int max_restarts_;
  std::chrono::milliseconds instant_;
  int count_ = 0;
  int short_lives_ = 0;
  std::map<std::string, int> short_losses_;  // by node, since the last long life
  int same_early_failures_ = 0;
  std::string last_failure_;
};

}  // namespace toprun::run
