#pragma once

#include <signal.h>

#include <algorithm>

#include "node/plan/options.h"

namespace toprun::agent {

// True: this signal does not end the run. The agent only forwards the signal to the ranks that
// handle this signal.
inline bool is_notice(int signal, const plan::Options& options) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return false;
  const std::vector<int>& ending = options.signals_to_handle.value;
  return std::ranges::find(ending, signal) == ending.end();
}

// Whether this signal asks the job to add the waiting nodes.
inline bool asks_to_grow(int signal, const plan::Options& options) {
  const std::vector<int>& ending = options.signals_to_handle.value;
  return signal == run::grow_signal && std::ranges::find(ending, signal) == ending.end();
}

}  // namespace toprun::agent
