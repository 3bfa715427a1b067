#include "cli/jobs/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "cli/jobs/job_words.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::JobState;
using engines::Queue;

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
        job == all.end() ? "" : fmt::format("; its state is {}", printable(job->state_word));
    const char* const demand = kind == "afterok"      ? "end with exit code 0"
                               : kind == "afternotok" ? "fail"
                               : kind == "after"      ? "start"
                                                      : "end";
    phrases.push_back(fmt::format("job {} must {} first{}", printable(id), demand, state));
  }
  return phrases;
}

// Whether something else than the end of other jobs keeps such a job from starting: no job waits
// for it. Limits of a group (QOSGrpNodeLimit, AssocGrpCpuLimit) end with other jobs.
bool cannot_start_yet(const std::string& reason) {
  if (reason.contains("Grp")) return false;
  constexpr std::array<std::string_view, 16> starts = {"BeginTime",
                                                       "Dependency",
                                                       "JobHeld",
                                                       "JobHold",
                                                       "launch_failed",
                                                       "PartitionTimeLimit",
                                                       "PartitionNodeLimit",
                                                       "BadConstraints",
                                                       "InvalidAccount",
                                                       "InvalidQOS",
                                                       "AccountNotAllowed",
                                                       "Reservation",
                                                       "JobArrayTaskLimit",
                                                       "QOS",
                                                       "Assoc",
                                                       "Max"};
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return reason.starts_with(start); });
}

std::optional<std::int64_t> jobs_ahead(const Job& job, const std::vector<Job>& all) {
  if (!job.priority) return std::nullopt;
  return std::ranges::count_if(all, [&](const Job& other) {
    return other.state == JobState::pending && other.id != job.id && same_queue(other, job) &&
           !cannot_start_yet(other.reason) && other.priority.value_or(0) > *job.priority;
  });
}

std::string ahead_text(std::int64_t ahead) {
  if (ahead == 0) return "no waiting job of its partition that could start has a higher priority";
  return fmt::format("{} of its partition {} a higher priority", counted(ahead, "waiting job"),
                     ahead == 1 ? "has" : "have");
}

// Where the engine itself tells a job's place.
std::string place_text(std::int64_t ahead) {
  if (ahead == 0) return "it is the first in its queue";
  return fmt::format("{} of its queue {} first", counted(ahead, "waiting job"),
                     ahead == 1 ? "comes" : "come");
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
  return fmt::format("the next running job to reach its time limit is {} on {}, in {}",
                     printable(first->id), printable(first->node_list),
                     duration_text(std::max(*first->ended - now, WallTime::duration(0))));
}

// Slurm plans as if a job without a time limit ended after 365 days (job_mgr.c: YEAR_SECONDS).
constexpr std::chrono::hours end_of_unlimited{24 * 365};
constexpr std::chrono::hours no_plan = end_of_unlimited / 2;

// "job 48 on n0 has no time limit", of running jobs of its partition. Empty: none is without one.
std::string without_limit(const Job& job, const std::vector<Job>& all) {
  constexpr std::size_t most_named = 4;
  std::vector<std::string> found;
  for (const Job& other : all) {
    const bool is_unlimited = other.state == JobState::running && same_queue(other, job) &&
                              !other.limit && !other.limit_of_partition;
    if (!is_unlimited) continue;
    found.push_back(fmt::format("job {} on {}", printable(other.id), printable(other.node_list)));
  }
  if (found.empty()) return {};
  if (found.size() > most_named) {
    const std::size_t more = found.size() - most_named + 1;
    found.resize(most_named - 1);
    found.push_back(fmt::format("{} more", more));
  }
  const std::string last = std::move(found.back());
  found.pop_back();
  return found.empty() ? last + " has no time limit"
                       : fmt::format("{} and {} have no time limit", join(found, ", "), last);
}

bool waits_for_room(const std::string& reason) {
  return reason == "Resources" || reason == "Priority";
}

// Slurm keeps such a job in its queue: an administrator or the user may change what is in the way.
bool waits_for_change(const std::string& reason) {
  constexpr std::array reasons = {"PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints"};
  return std::ranges::find(reasons, reason) != reasons.end();
}

}  // namespace

std::string start_text(const Waiting& waiting, const Job& job, WallTime now, Labelled labelled) {
  if (waiting.can_never_start) {
    return fmt::format("it can never start; end it with toprun cancel {}", id_word(job));
  }
  if (waiting.needs_change) {
    return fmt::format(
        "it cannot start as it is: submit it again with other options, and end this "
        "job with toprun cancel {}",
        id_word(job));
  }
  const bool is_delayed = waiting.not_before && *waiting.not_before > now;
  const char* const wish = waiting.was_requeued ? "" : " (--begin)";
  if (is_delayed && waiting.start.value_or(*waiting.not_before) <= *waiting.not_before) {
    return fmt::format("not before {}, in {}{}", time_text(*waiting.not_before),
                       duration_text(*waiting.not_before - now), wish);
  }
  if (!waiting.unlimited.empty()) {
    return fmt::format("{}unknown: {}", labelled == Labelled::no ? "start " : "",
                       waiting.unlimited);
  }
  if (waiting.start) {
    return fmt::format(
        "expected to start at {}, {}; earlier if other jobs end early{}", time_text(*waiting.start),
        *waiting.start > now ? "in " + duration_text(*waiting.start - now) : "any moment now",
        is_delayed ? fmt::format(", not before {}{}", time_text(*waiting.not_before), wish) : "");
  }
  if (waiting.needs_room) {
    return "no start is planned yet: the scheduler plans only for the first jobs in the queue";
  }
  return waiting.reasons.empty() ? "no start is planned yet, and the engine has given no reason yet"
                                 : "no start is planned yet";
}

Waiting waiting(const Queue& queue, const Job& job, const std::vector<Job>& starts,
                const std::vector<Job>& all, WallTime now) {
  Waiting out;
  if (job.state != JobState::pending) return out;
  const auto reported = std::ranges::find(starts, job.id, &Job::id);
  out.start = reported == starts.end() ? job.started : reported->started;
  out.not_before = job.not_before;
  out.was_requeued = job.restarts > 0;
  if (job.end == engines::JobEnd::dependency) {
    out.can_never_start = true;
    out.reasons = failed_predecessors(queue, job);
    return out;
  }
  out.needs_change = waits_for_change(job.reason);
  out.needs_room = waits_for_room(job.reason);
  if (!job.reason.empty()) out.reasons.push_back(reason_text(queue, job));
  for (std::string& phrase : dependencies(job.dependency, all)) {
    out.reasons.push_back(std::move(phrase));
  }
  if (job.ahead) {
    out.ahead = job.ahead;
    out.reasons.push_back(place_text(*job.ahead));
  }
  if (!out.needs_room) return out;
  if (out.start && *out.start - now > no_plan) {
    out.unlimited = without_limit(job, all);
    if (!out.unlimited.empty()) out.start.reset();
  }
  out.ahead = jobs_ahead(job, all);
  if (out.ahead) out.reasons.push_back(ahead_text(*out.ahead));
  if (std::string end = first_end(job, all, now); !end.empty()) {
    out.reasons.push_back(std::move(end));
  }
  return out;
}

bool is_planned_far_ahead(const Job& job, WallTime now) {
  return job.state == JobState::pending && waits_for_room(job.reason) && job.started &&
         *job.started - now > no_plan;
}

bool needs_others(const Job& job) {
  return job.state == JobState::pending && (!job.dependency.empty() || waits_for_room(job.reason));
}

Waiting waiting(const Queue& queue, const Job& job) {
  if (job.state != JobState::pending) return {};
  const auto starts = queue.starts(job.uid);
  const auto all = needs_others(job) ? queue.jobs(std::nullopt) : engines::JobList();
  const std::vector<Job> none;
  return waiting(queue, job, starts ? *starts : none, all ? all->jobs : none,
                 std::chrono::system_clock::now());
}

std::vector<std::string> lines_of(const Waiting& waiting, const Job& job, WallTime now) {
  if (job.state != JobState::pending) return {};
  std::vector<std::string> lines = waiting.reasons;
  lines.push_back(start_text(waiting, job, now, Labelled::no));
  return lines;
}

}  // namespace toprun::jobs
