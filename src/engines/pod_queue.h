#pragma once

#include <algorithm>

#include "engines/queue.h"

namespace toprun::engines {

// Common parts of the queues for engines whose jobs are pods. A job of pods exists until a user
// deletes the job, and the job's start cannot be predicted.
class PodQueue : public Queue {
 public:
  PodQueue(const Environment& environment, std::chrono::milliseconds timeout)
      : environment_(environment), timeout_(timeout) {}

  Result<std::vector<Job>> starts(std::optional<std::uint32_t>) const override {
    return std::vector<Job>();
  }
  bool is_run_by_toprun(const JobId&) const override { return false; }
  bool keeps_what_has_ended() const override { return true; }
  std::chrono::seconds memory() const override { return std::chrono::hours(24); }
  std::string expand(std::string_view pattern, const Job&) const override {
    return std::string(pattern);
  }

 protected:
  // Sets Job::used to the time since `begin`. The clock is this host's, because kubectl and runai
  // do not report the server's time.
  static void count_time_since(Job& job, const std::optional<WallTime>& begin) {
    if (!begin || has_ended(job.state)) return;
    const auto used = std::chrono::system_clock::now() - *begin;
    job.used = std::max(std::chrono::seconds(0), std::chrono::floor<std::chrono::seconds>(used));
  }

  const Environment environment_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace toprun::engines
