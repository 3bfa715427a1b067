#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "cli/jobs/waiting.h"
#include "engines/queue.h"

namespace toprun::jobs {

inline constexpr std::chrono::seconds first_question{2};
inline constexpr std::chrono::seconds longest_silence{30};  // the longest pause between two queries

// Queries the engine (Slurm) periodically for a job's state. A JobWatch has its own thread, because
// an answer can take as long as the engine's time-out. The pause between queries grows from
// first_question to longest_silence; after an answer that differs from the last one, the pause is
// first_question again. If an engine soon forgets jobs that have ended, the pause is at most half
// of the time after which it forgets them.
class JobWatch {
 public:
  // `known`: the result of the first query.
  JobWatch(std::shared_ptr<const engines::Queue> queue, engines::JobId id,
           std::vector<engines::Job> known);

  // Readable when an answer has arrived.
  int fd() const { return answered_->event.get(); }
  // Processes the engine's answer if it has arrived. Otherwise starts a query if one is due.
  // Returns whether the answer differs from the last one.
  bool pass(SteadyTime now);
  // When to call pass() next, unless an answer arrives earlier.
  SteadyTime wake_at() const { return next_; }
  // Makes the next query start soon. Call hurry() if something else shows that the job has ended or
  // changed.
  void hurry(SteadyTime now);

  // Jobs by id. For a job that the engine has forgotten, the map contains the state that the engine
  // last reported.
  const JobsById& jobs() const { return jobs_; }
  // Why a pending job waits, as the engine last answered. nullptr if the job does not wait or the
  // reason is unknown.
  const Waiting* waiting(const std::string& id) const;
  // Whether every job has ended or was forgotten by the engine.
  bool ended() const;
  // The engine's last error; empty if the last query succeeded.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Answer {
    Fd event;
    // The querying thread sets `jobs` and `waiting`, then signals `event`. Other threads read them
    // only after that.
    std::optional<Result<std::vector<engines::Job>>> jobs;
    std::map<std::string, Waiting> waiting;
  };
  void ask();
  bool take(const Result<std::vector<engines::Job>>& answer);

  std::shared_ptr<const engines::Queue> queue_;
  const engines::JobId id_;
  const std::chrono::milliseconds longest_;
  JobsById jobs_;
  std::map<std::string, Waiting> waiting_;
  std::shared_ptr<Answer> answered_;
  std::chrono::milliseconds pause_{first_question};
  SteadyTime next_;
  bool asking_ = false;
  std::set<std::string> forgotten_;
  std::string trouble_;
};

}  // namespace toprun::jobs
