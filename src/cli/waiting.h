#pragma once

#include <string>
#include <vector>

#include "scheduler/queue.h"

namespace toprun::cli {

// What a pending job waits for, in whole phrases: why, the jobs it depends on, how many are ahead
// of it, which of the running ones ends first, when the engine expects to start it. Empty for a job
// that does not wait. Asks the engine; what it does not answer is left out.
std::vector<std::string> waiting_lines(const scheduler::Queue& queue, const scheduler::Job& job);

// The same from what the engine answered: `starts` as Queue::starts(), `all` everybody's jobs;
// `now` for "in 5 min". Pure.
std::vector<std::string> waiting_lines(const scheduler::Queue& queue, const scheduler::Job& job,
                                       const std::vector<scheduler::Job>& starts,
                                       const std::vector<scheduler::Job>& all, WallTime now);

}  // namespace toprun::cli
