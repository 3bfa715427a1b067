#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "run/roster.h"
#include "run/verdict.h"

namespace toprun::run {

// A worker that ends with this code asks not to be started again (as NVIDIA's ft_launcher has it).
inline constexpr int no_restart_exit_code = 93;
// An attempt that fails sooner after its start than this cannot have done any work …
inline constexpr std::chrono::milliseconds instant{1'000};
// … and so many of them in a row, all with the same failure, will not end otherwise.
inline constexpr int hopeless_after = 3;
// Before the third and later attempts in a row that lived shorter than this there is a pause, which
// doubles each time.
inline constexpr std::chrono::milliseconds short_life{10'000};
inline constexpr std::chrono::milliseconds first_pause{1'000};
inline constexpr std::chrono::milliseconds longest_pause{30'000};

// Decides whether another attempt follows one that ended; pure. Failures use up --max-restarts,
// members that are lost, leave or come do not.
class Restarts {
 public:
  Restarts(Size size, int max_restarts) : size_(size), max_restarts_(max_restarts) {}

  struct Next {
    bool again = false;
    std::chrono::milliseconds pause{0};
    std::string words;  // what follows, or why nothing does; empty if there is nothing to say
  };
  // `lived`: from the start of its workers to the first failure; unset if they never started.
  Next after(const Verdict& verdict, std::optional<std::chrono::milliseconds> lived);

  // TORCHELASTIC_RESTART_COUNT: how many failures so far were followed by another attempt.
  int count() const { return count_; }

 private:
  Next after_failure(const Verdict& verdict, std::optional<std::chrono::milliseconds> lived);
  bool survives_a_loss() const { return size_.repairable; }

  Size size_;
  int max_restarts_;
  int count_ = 0;
  int short_lives_ = 0;
  int same_instant_failures_ = 0;
  std::string last_failure_;
};

}  // namespace toprun::run
