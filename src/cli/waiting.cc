#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/job_words.h"

namespace toprun::cli {
namespace {

using scheduler::Job;
using scheduler::JobState;
using scheduler::Queue;

bool same_queue(const Job& a, const Job& b) {
  return a.partition == b.partition;
}

// "afterok:12(unfulfilled),afterany:13(failed)" in words, one phrase each.
std::vector<std::string> dependencies(const std::string& text, const std::vector<Job>& all) {
  std::vector<std::string> phrases;
  for (const std::string_view item : split(text, text.contains('?') ? '?' : ',')) {
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos) {
      if (!item.empty()) phrases.push_back(printable(item));
      continue;
    }
    const std::string_view kind = item.substr(0, colon);
    const std::string_view rest = item.substr(colon + 1);
    const std::string id(rest.substr(0, rest.find_first_of("(+_")));
    const auto job =
        std::ranges::find_if(all, [&](const Job& one) { return one.id == id || one.array == id; });
    const std::string state =
        job == all.end() ? "" : fmt::format(", which is {} now", lower(job->state_word));
    const char* const demand = kind == "afterok"      ? "to end with exit code 0"
                               : kind == "afternotok" ? "to fail"
                               : kind == "after"      ? "to have started"
                                                      : "to end";
    phrases.push_back(fmt::format("job {} {}{}", printable(id), demand, state));
  }
  return phrases;
}

std::string jobs_ahead(const Job& job, const std::vector<Job>& all) {
  if (!job.priority) return {};
  const auto ahead = std::ranges::count_if(all, [&](const Job& other) {
    return other.state == JobState::pending && other.id != job.id && same_queue(other, job) &&
           other.priority.value_or(0) > *job.priority;
  });
  if (ahead == 0) return "no waiting job of its partition has a higher priority";
  return fmt::format("{} waiting job{} of its partition {} a higher priority", ahead,
                     ahead == 1 ? "" : "s", ahead == 1 ? "has" : "have");
}

// Of the jobs that hold nodes of its partition, the first that must end.
std::string first_end(const Job& job, const std::vector<Job>& all, WallTime now) {
  const Job* first = nullptr;
  for (const Job& other : all) {
    if (other.state != JobState::running || !same_queue(other, job)) continue;
    if (!other.ended || !other.limit) continue;
    if (first == nullptr || *other.ended < *first->ended) first = &other;
  }
  if (first == nullptr) return {};
  return fmt::format("the first of the running ones to reach its time limit is {} on {}, in {}",
                     printable(first->id), printable(first->node_list),
                     duration_text(std::max(*first->ended - now, WallTime::duration(0))));
}

bool waits_for_room(const std::string& reason) {
  return reason == "Resources" || reason == "Priority";
}

std::string expected_start(const Job& job, const std::vector<Job>& starts, WallTime now) {
  const auto told = std::ranges::find(starts, job.id, &Job::id);
  const auto start = told == starts.end() ? job.started : told->started;
  if (!start && !waits_for_room(job.reason)) return "no start is planned before that";
  if (!start) {
    return "no start is planned yet: the scheduler plans for the next jobs in line only";
  }
  return fmt::format("expected to start at {}, {}; earlier if others end early", time_text(*start),
                     *start > now ? "in " + duration_text(*start - now) : "any moment now");
}

}  // namespace

std::vector<std::string> waiting_lines(const Queue& queue, const Job& job,
                                       const std::vector<Job>& starts, const std::vector<Job>& all,
                                       WallTime now) {
  if (job.state != JobState::pending) return {};
  std::vector<std::string> lines;
  if (!job.reason.empty()) lines.push_back(reason_text(queue, job.reason));
  for (std::string& phrase : dependencies(job.dependency, all)) lines.push_back(std::move(phrase));
  if (waits_for_room(job.reason)) {
    for (std::string line : {jobs_ahead(job, all), first_end(job, all, now)}) {
      if (!line.empty()) lines.push_back(std::move(line));
    }
  }
  lines.push_back(expected_start(job, starts, now));
  return lines;
}

std::vector<std::string> waiting_lines(const Queue& queue, const Job& job) {
  if (job.state != JobState::pending) return {};
  const auto starts = queue.starts(job.uid);
  const auto all = queue.jobs(std::nullopt);
  const std::vector<Job> none;
  return waiting_lines(queue, job, starts ? *starts : none, all ? *all : none,
                       std::chrono::system_clock::now());
}

}  // namespace toprun::cli
