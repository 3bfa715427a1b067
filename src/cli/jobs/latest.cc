#include "cli/jobs/latest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_story.h"

namespace toprun::jobs {
namespace {

bool is_ours(const FoundFiles& found, uid_t me) {
  struct stat status {};
  const std::string& path = is_there(found.files.folder) || found.files.own.empty()
                                ? found.files.folder
                                : found.files.own.front();
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == me;
}

// Of two that both have a time, or both none. Slurm's own times are whole seconds.
bool is_before(const Submission& one, const Submission& other) {
  const auto second = [](const Submission& job) {
    return std::chrono::floor<std::chrono::seconds>(job.second.value_or(WallTime{}));
  };
  const auto is_finer = [&](const Submission& job) {
    return job.second && *job.second != second(job);
  };
  if (is_finer(one) && is_finer(other)) return *one.second < *other.second;
  if (second(one) != second(other)) return second(one) < second(other);
  return natural_less(one.first, other.first);
}

// nullptr: no job is.
const Submission* latest_that_is(bool dated, const std::vector<Submission>& jobs) {
  const Submission* latest = nullptr;
  for (const Submission& job : jobs) {
    if (job.second.has_value() != dated) continue;
    if (latest == nullptr || is_before(*latest, job)) latest = &job;
  }
  return latest;
}

}  // namespace

std::string latest_of(const std::vector<Submission>& jobs) {
  const Submission* const dated = latest_that_is(true, jobs);
  const Submission* const undated = latest_that_is(false, jobs);
  if (dated == nullptr && undated == nullptr) return {};
  const bool is_undated =
      dated == nullptr || (undated != nullptr && natural_less(dated->first, undated->first));
  const std::string& id = is_undated ? undated->first : dated->first;
  return id.substr(0, id.find('_'));
}

Result<std::string> latest_job_here(const Environment& environment) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  std::map<std::string, std::optional<WallTime>> submitted;
  const auto queue = engines::find_queue(environment);
  if (queue) {
    const auto jobs = TRY((*queue)->jobs(::getuid()));
    for (const engines::Job& job : jobs.jobs) {
      if (job.folder == here) submitted[job.id] = job.submitted;
    }
  }
  for (const FoundFiles& found : all_files({here})) {
    if (!is_ours(found, ::getuid())) continue;
    auto& at = submitted[found.id];
    // Slurm's own time begins again when it puts a job back into the queue.
    if (const auto act = read_story(found.files.folder).submitted) at = act->at;
  }
  const std::string id = latest_of({submitted.begin(), submitted.end()});
  if (id.empty()) {
    return fail("you have submitted no job from this folder, according to the files in it",
                queue ? "" : queue.error().line(),
                "give the job's id; toprun jobs lists your jobs");
  }
  say(fmt::format("job {}, your latest in this folder", id));
  return id;
}

}  // namespace toprun::jobs
