#include "cli/jobs/job_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace toprun::jobs {
namespace {

using engines::Job;
using std::chrono::milliseconds;

// No answer is due before that.
constexpr std::chrono::hours never{24};

// What a change of makes the next question come soon.
bool alike(const Job& a, const Job& b) {
  return a.state == b.state && a.reason == b.reason && a.reason_words == b.reason_words &&
         a.node_list == b.node_list && a.restarts == b.restarts;
}

// Once a job is found, no other of its name is.
engines::JobId meant(engines::JobId id, const std::vector<Job>& known) {
  if (known.size() == 1) id.record = known.front().number;
  return id;
}

}  // namespace

JobWatch::JobWatch(std::shared_ptr<const engines::Queue> queue, engines::JobId id,
                   std::vector<Job> known)
    : queue_(std::move(queue)),
      id_(meant(std::move(id), known)),
      longest_(std::clamp<milliseconds>(queue_->memory() / 2, first_question, longest_silence)),
      answered_(std::make_shared<Answer>()),
      next_(std::chrono::steady_clock::now() + first_question) {
  answered_->event = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (Job& job : known) jobs_[job.id] = std::move(job);
}

void JobWatch::ask() {
  asking_ = true;
  // Detached: a user that stops following does not wait for an engine that does not answer.
  std::thread([queue = queue_, id = id_, answer = answered_] {
    answer->jobs = queue->find(id);
    answer->waiting.clear();
    if (*answer->jobs) {
      for (const Job& job : **answer->jobs) {
        if (job.state != engines::JobState::pending) continue;
        answer->waiting[job.id] = jobs::waiting(*queue, job);
      }
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(answer->event.get(), &one, sizeof one);
  }).detach();
}

bool JobWatch::pass(SteadyTime now) {
  std::uint64_t count = 0;
  if (asking_ && ::read(answered_->event.get(), &count, sizeof count) == sizeof count) {
    asking_ = false;
    waiting_ = std::move(answered_->waiting);
    const bool changed = take(*answered_->jobs);
    pause_ = changed ? milliseconds(first_question) : std::min(pause_ * 3 / 2, longest_);
    next_ = now + pause_;
    return changed;
  }
  if (!asking_ && now >= next_ && !ended()) {
    ask();
    next_ = now + never;
  }
  return false;
}

bool JobWatch::take(const Result<std::vector<Job>>& answer) {
  trouble_ = answer ? std::string() : answer.error().line();
  if (!answer) return false;
  bool changed = false;
  const auto is_reported = [&](const std::string& id) {
    return std::ranges::find(*answer, id, &Job::id) != answer->end();
  };
  // The tasks of an array that wait share a record, whose id changes with every one that starts.
  if (!answer->empty()) {
    std::erase_if(jobs_, [&](const auto& entry) {
      return entry.second.state == engines::JobState::pending && !is_reported(entry.first);
    });
  }
  for (const auto& [id, job] : jobs_) {
    if (!has_ended(job.state) && !is_reported(id))
      changed = forgotten_.insert(id).second || changed;
  }
  for (const Job& job : *answer) {
    const auto [known, is_new] = jobs_.try_emplace(job.id, job);
    changed = changed || is_new || !alike(known->second, job);
    known->second = job;
  }
  return changed;
}

const Waiting* JobWatch::waiting(const std::string& id) const {
  const auto found = waiting_.find(id);
  return found == waiting_.end() ? nullptr : &found->second;
}

void JobWatch::hurry(SteadyTime now) {
  pause_ = first_question;
  if (!asking_) next_ = std::min(next_, now + first_question);
}

bool JobWatch::ended() const {
  return std::ranges::all_of(jobs_, [this](const auto& entry) {
    return has_ended(entry.second.state) || forgotten_.contains(entry.first);
  });
}

}  // namespace toprun::jobs
