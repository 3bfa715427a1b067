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
inline constexpr std::chrono::seconds longest_silence{30};  // between two queries

// Queries the engine for a job's state from time to time, on its own thread because an answer may
// take as long as the engine's time-out. The pause between queries grows from first_question to
// longest_silence and starts again after a change; an engine that soon forgets ended jobs is
// queried twice as often as it forgets.
class JobWatch {
 public:
  // `known`: the first answer.
  JobWatch(std::shared_ptr<const engines::Queue> queue, engines::JobId id,
           std::vector<engines::Job> known);

  // Readable when an answer is there.
  int fd() const { return answered_->event.get(); }
  // Starts a query if it is time for one, and takes an answer if there is one. True: jobs changed.
  bool pass(SteadyTime now);
  // The time of the next pass(), unless an answer comes first.
  SteadyTime wake_at() const { return next_; }
  // Call it when there are other signs that the job ended or moved on: the next query comes soon.
  void hurry(SteadyTime now);

  // By id. A job that the engine forgot keeps its last known state.
  const JobsById& jobs() const { return jobs_; }
  // Why a pending job waits, from the last answer; nullptr: it does not wait, or that is unknown.
  const Waiting* waiting(const std::string& id) const;
  // Whether all jobs ended, or the engine forgot them first.
  bool ended() const;
  // The engine's last error; empty: it answers.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Answer {
    Fd event;
    // Guarded by the event:
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
