#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/queue.h"

namespace toprun::jobs {

// Why a pending job waits, from the engine's answers.
struct Waiting {
  std::vector<std::string> reasons;    // whole phrases: why, the jobs it depends on, what is ahead
  bool needs_room = false;             // it waits for nodes and for nothing else
  std::optional<std::int64_t> ahead;   // waiting jobs that come before it
  std::optional<WallTime> start;       // expected by the engine
  std::optional<WallTime> not_before;  // it cannot begin earlier
  bool was_requeued = false;           // not_before is then the engine's pause, not the user's wish
};

// Empty for a job that does not wait. `starts` as Queue::starts(), `all` the jobs of all users;
// `now` for "in 5 min". Pure.
Waiting waiting(const engines::Queue& queue, const engines::Job& job,
                const std::vector<engines::Job>& starts, const std::vector<engines::Job>& all,
                WallTime now);
// Whether what it waits for depends on other jobs, so that `all` is worth asking for.
bool needs_others(const engines::Job& job);

// The same from new queries to the engine, without the parts that it does not answer.
Waiting waiting(const engines::Queue& queue, const engines::Job& job);

// "expected to start at 2026-11-22 20:10:00, in 5 min; earlier if others end early", "not before
// 2026-11-22 20:10:00, in 5 min (--begin)".
std::string start_text(const Waiting& waiting, WallTime now);

// All of it, a line each, the start last. Empty for a job that does not wait.
std::vector<std::string> lines_of(const Waiting& waiting, const engines::Job& job, WallTime now);

}  // namespace toprun::jobs
