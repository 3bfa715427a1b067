#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "jobs/waiting.h"
#include "scheduler/queue.h"

namespace toprun::jobs {

inline constexpr std::chrono::seconds first_question{2};
inline constexpr std::chrono::seconds longest_silence{30};  // between two questions

// Asks the engine from time to time what has become of a job, on a thread of its own, because an
// answer may take as long as the engine's time-out. The pause between questions grows from
// first_question to longest_silence, and starts anew when something changed; an engine that forgets
// ended jobs soon is asked twice as often as that.
class JobWatch {
 public:
  // `known`: the first answer.
  JobWatch(std::shared_ptr<const scheduler::Queue> queue, scheduler::JobId id,
           std::vector<scheduler::Job> known);

  // Readable when an answer is there.
  int fd() const { return answered_->event.get(); }
  // Starts a question if it is time for one, takes an answer if one is there. True: `jobs` changed.
  bool pass(SteadyTime now);
  // When pass() has something to do, if no answer comes before.
  SteadyTime wake_at() const { return next_; }
  // Something else tells that the job ended or moved on: the next question comes soon.
  void hurry(SteadyTime now);

  // By id. A job that the engine has forgotten stays as it was last seen.
  const std::map<std::string, scheduler::Job>& jobs() const { return jobs_; }
  // What a pending one waits for, as of the last answer; nullptr: it does not wait, or nobody said.
  const Waiting* waiting(const std::string& id) const;
  // All have ended, or were forgotten by the engine before that was seen.
  bool ended() const;
  // What the engine last failed to answer; empty: it answers.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Answer {
    Fd event;
    // Guarded by the event:
    std::optional<Result<std::vector<scheduler::Job>>> jobs;
    std::map<std::string, Waiting> waiting;
  };
  void ask();
  bool take(const Result<std::vector<scheduler::Job>>& answer);

  std::shared_ptr<const scheduler::Queue> queue_;
  const scheduler::JobId id_;
  const std::chrono::milliseconds longest_;
  std::map<std::string, scheduler::Job> jobs_;
  std::map<std::string, Waiting> waiting_;
  std::shared_ptr<Answer> answered_;
  std::chrono::milliseconds pause_{first_question};
  SteadyTime next_;
  bool asking_ = false;
  std::set<std::string> forgotten_;
  std::string trouble_;
};

}  // namespace toprun::jobs
