#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "run/conductor/course.h"
#include "run/conductor/roster.h"
#include "run/conductor/settings.h"

namespace toprun::run {

// A worker exits with this code to prevent a restart (as in NVIDIA's ft_launcher).
inline constexpr int no_restart_exit_code = 93;
// After hopeless_after early failures of the same kind in a row, a restart is pointless. Early
// failures are instant failures (run/conductor/settings.h), and failed imports before all ranks
// have reached the store. A restart is also pointless if it includes a node that was lost
// hopeless_after times in short attempts (short_life).
inline constexpr int hopeless_after = 3;
// If two attempts in a row are shorter than short_life, the next attempts start after a pause,
// which doubles each time. A node's first loss causes no pause. After an attempt that lasted
// short_life or longer, the next loss counts as the first again.
inline constexpr std::chrono::milliseconds short_life{10'000};
inline constexpr std::chrono::milliseconds first_pause{1'000};
inline constexpr std::chrono::milliseconds longest_pause{30'000};

// Decides whether another attempt follows one that ended; performs no I/O. Failures count towards
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
  // How long an attempt lasted, and what it had reached by its end.
  struct Life {
    // The time from the workers' start to the first failure. Without a failure: to the root's order
    // to stop the workers. Unset: the workers never started.
    std::optional<std::chrono::milliseconds> lasted;
    bool has_met = false;  // all ranks had reached the store
  };
  Next after(const Verdict& verdict, Life life);

  // How many failures so far were followed by another attempt (TORCHELASTIC_RESTART_COUNT).
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
  std::map<std::string, int> short_losses_;  // by node: losses in short attempts since the last
                                             // long attempt
  int same_early_failures_ = 0;
  std::string last_failure_;
};

}  // namespace toprun::run
