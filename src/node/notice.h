#pragma once

#include <signal.h>

#include <algorithm>

#include "plan/options.h"

namespace toprun::node {

// A signal that is passed on to the ranks that handle it while the run goes on.
inline bool is_notice(int signal, const plan::Options& options) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return false;
  const std::vector<int>& ending = options.signals_to_handle.value;
  return std::ranges::find(ending, signal) == ending.end();
}

// A signal that asks the job to take in the nodes that wait.
inline bool asks_to_grow(int signal, const plan::Options& options) {
  const std::vector<int>& ending = options.signals_to_handle.value;
  return signal == run::grow_signal && std::ranges::find(ending, signal) == ending.end();
}

}  // namespace toprun::node
