#include "cli/jobs/known_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_story.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/live_status.h"
#include "cli/jobs/predecessors.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using engines::Job;

// Whether the run was of this job, as "slurm.CLUSTER.17.0" is of 17. A later job may have replaced
// the report.
bool is_of_job(const model::RunRecord& run, std::string_view id) {
  const auto parts = split(run.job.raw(), '.');
  return parts.size() >= 3 && parts.front() == "slurm" && parts[parts.size() - 2] == id;
}

// The job's own report, or the file that its submission named with --report.
Result<std::optional<JobReport>> report_of(const KnownJob& known) {
  auto own = TRY(read_report(known.files->report()));
  if (own || known.story.report.empty()) return own;
  auto named = read_report(known.story.report);
  if (!named || !*named || !is_of_job((*named)->run, known.id)) return std::nullopt;
  return *std::move(named);
}

Result<void> add_report(KnownJob& known) {
  if (!known.files) return {};
  known.report = TRY(report_of(known));
  const bool may_tell_more = !known.job || known.job->state == engines::JobState::failed;
  if (!known.report && may_tell_more) known.last_line = own_line_at_end(*known.files);
  return {};
}

// Slurm makes the file of a job's output when it begins.
bool has_output(const JobFiles& files) {
  return std::ranges::any_of(files.own, is_there) || !node_files(files).empty() ||
         is_there(files.report());
}

bool has_smaller_number(const engines::JobId& job, std::string_view other) {
  const auto other_number = parse_int(other.substr(0, other.find('_')));
  const auto number = parse_int(job.number);
  return number && other_number && *number < *other_number;
}

// The jobs that it waited for, as the files beside its own folder tell.
void add_predecessors(KnownJob& known, const std::string& folder) {
  const Conditions conditions = parse_dependency(dependency_in(folder));
  for (const After& after : conditions.all) known.waited_for.push_back(after.job.text);
  known.failed_predecessors = never_met(conditions, [&](const engines::JobId& id) {
    std::vector<KnownJob> all;
    if (!has_smaller_number(id, known.id)) return all;  // copied folders could refer to each other
    for (const FoundFiles& found : files_beside(folder, id.text)) {
      all.push_back(forgotten_job(found));
    }
    return all;
  });
}

// A later job may have built there, and its record tells nothing of this one.
void add_setup(KnownJob& known, const std::string& folder) {
  const std::string built = built_in(folder);
  if (built.empty()) return;
  auto record = setup::read_record(built);
  if (!record || !*record) return;
  if ((*record)->job == known.id) {
    known.setup = *std::move(*record);
  } else if (natural_less(known.id, (*record)->job)) {
    known.later_setup = (*record)->job;
  }
}

void add_files(KnownJob& known, JobFiles files) {
  known.has_output = has_output(files);
  if (!known.job && !known.has_output) add_predecessors(known, files.folder);
  known.name = name_in(files, known.id);
  known.story = read_story(files.folder);
  add_setup(known, files.folder);
  known.files = std::move(files);
}

// After its story: one that was cancelled while it waited had no other end.
void add_why_unstarted(KnownJob& known, const engines::Queue& queue, const Setups& setups) {
  if (!has_ended(known.job->state) || known.job->end != engines::JobEnd::dependency) return;
  if (!known.story.cancels.empty()) return;
  known.failed_predecessors = failed_predecessors(queue, *known.job, setups);
}

Result<KnownJob> known_of(const engines::Queue& queue, const Job& job) {
  KnownJob known = without_files(queue, job);
  auto files = files_of(queue, job);
  if (!files) {
    auto found = search_files(job.id, likely_folders({job}));
    if (!found.empty()) files = std::move(found.front().files);
  }
  if (files) add_files(known, *std::move(files));
  add_why_unstarted(known, queue, {});
  TRY(add_report(known));
  return known;
}

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

// Whether its run ended before the array was submitted: Slurm may count from 1 again. The time of
// a submission changes when Slurm puts a task back into the queue.
bool is_of_earlier_array(const FoundFiles& task, const std::vector<Job>& jobs) {
  const auto report = read_report(task.files.report());
  if (!report || !*report) return false;
  const auto updated = model::if_known(model::updated_at((*report)->run));
  return updated && std::ranges::any_of(jobs, [&](const Job& job) {
           return job.restarts == 0 && job.submitted && *updated < *job.submitted;
         });
}

// Between the engine's time of a submission and the one in the job's story, which another host may
// have written: their clocks may differ.
constexpr std::chrono::minutes same_submission{5};

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real;
}

bool is_submission_of(const JobStory& story, const Job& job) {
  return story.submitted && job.submitted &&
         std::chrono::abs(story.submitted->at - *job.submitted) < same_submission;
}

// Why the engine's job with this folder's number cannot be taken for the folder's; empty: it can.
std::string why_another(const engines::Queue& queue, const Job& job, const FoundFiles& found) {
  const JobStory story = read_story(found.files.folder);
  const std::string whose = fmt::format("{}'s job {}", queue.engine_in_words(), found.id);
  const bool says_when = story.submitted && job.submitted && job.restarts == 0;
  const auto files = files_of(queue, job);
  if (!files && !says_when) {
    return fmt::format("{} does not say where job {} has its files", queue.engine_in_words(),
                       found.id);
  }
  if (files) {
    const fs::path folder = resolved(files->folder);
    const bool is_same =
        folder == found.files.folder ||
        (!job.array.empty() && folder.parent_path() / job.array == fs::path(found.files.folder));
    if (!is_same) return fmt::format("{} has its files in {}", whose, printable(folder.string()));
  }
  if (!says_when || is_submission_of(story, job)) return {};
  return fmt::format("{} is another one, submitted {}", whose, time_text(*job.submitted));
}

}  // namespace

KnownJob without_files(const engines::Queue& queue, const Job& job) {
  KnownJob known;
  known.id = job.id;
  known.job = job;
  known.engine_words =
      has_ended(job.state) ? end_text(queue, job) : queue.state_words(job.state_word);
  if (has_ended(job.state)) {
    known.engine_words_beside_code = end_text(queue, job, ExitCode::left_out);
  }
  if (known.engine_words.empty()) known.engine_words = lower(printable(job.state_word));
  return known;
}

Result<std::vector<Job>> find_in(FoundQueue& queue, const engines::JobId& id) {
  if (!queue) return std::vector<Job>();
  auto jobs = (*queue)->find(id);
  if (jobs) leave_only(id, *jobs);
  if (jobs || jobs.error()->kind != ErrorKind::out_of_reach) return jobs;
  const bool is_of_pods = id.number.empty() && engines::has_pods((*queue)->kind());
  if (is_of_pods) return jobs;  // which have no files
  queue = std::unexpected(std::move(jobs.error()));
  return std::vector<Job>();
}

std::vector<FoundFiles> forgotten_tasks(const engines::Queue& queue, const engines::JobId& id,
                                        const std::vector<Job>& jobs) {
  TaskNumbers known;
  std::string log_dir;
  for (const Job& job : jobs) {
    if (id.number.empty() || !id.task.empty() || job.array != id.number) return {};
    const auto tasks = job.task.empty() ? TaskNumbers() : parse_tasks(job.task);
    if (!tasks) return {};  // Slurm has shortened the list of those that wait
    known = all_tasks(known, *tasks);
    if (!log_dir.empty()) continue;
    if (const auto files = files_of(queue, job)) {
      log_dir = fs::path(files->folder).parent_path().string();
    }
  }
  if (log_dir.empty()) return {};
  std::vector<FoundFiles> tasks = other_tasks(log_dir, id.number, known);
  std::erase_if(tasks, [&](const FoundFiles& task) { return is_of_earlier_array(task, jobs); });
  return tasks;
}

Result<std::vector<KnownJob>> find_known(const engines::JobId& id, FoundQueue& queue,
                                         const std::string& log_dir) {
  const auto jobs = TRY(find_in(queue, id));
  std::vector<KnownJob> all;
  for (const Job& job : jobs) {
    auto known = TRY(known_of(**queue, job));
    all.push_back(std::move(known));
  }
  if (!all.empty()) {
    const std::vector<FoundFiles> others = forgotten_tasks(**queue, id, jobs);
    if (!others.empty()) {
      std::erase_if(all, [](const KnownJob& known) { return is_without_tasks(*known.job); });
    }
    for (const FoundFiles& task : others) all.push_back(forgotten_job(task));
    std::ranges::stable_sort(all, natural_less, &KnownJob::id);
    return all;
  }
  std::vector<std::string> folders = likely_folders({});
  if (!log_dir.empty()) folders.push_back(log_dir);
  for (FoundFiles& found : search_files(id.text, folders)) {
    KnownJob forgotten;
    forgotten.id = std::move(found.id);
    add_files(forgotten, std::move(found.files));
    TRY(add_report(forgotten));
    all.push_back(std::move(forgotten));
  }
  return all;
}

std::optional<JobAtPath> job_at(const std::string& path, const Environment& environment) {
  auto found = files_at(path);
  if (!found) return std::nullopt;
  JobAtPath out{.found = *std::move(found), .why_only_files = "no engine can be asked here"};
  const auto id = engines::parse_job_id(out.found.id);
  if (!id) return out;
  auto queue = engines::find_queue_of(*id, environment);
  const auto jobs = find_in(queue, *id);
  if (!queue || !jobs) {
    out.why_only_files = (!queue ? queue.error() : jobs.error()).line();
    return out;
  }
  if ((*queue)->kind() != engines::QueueKind::slurm) {
    out.why_only_files =
        fmt::format("the engine here is {}, and not Slurm", (*queue)->engine_in_words());
    return out;
  }
  out.is_forgotten = jobs->empty();
  out.why_only_files = fmt::format("{} has forgotten it", (*queue)->engine_in_words());
  for (const Job& job : *jobs) {
    out.why_only_files = why_another(**queue, job, out.found);
    out.is_known = out.why_only_files.empty();
    if (out.is_known) break;
  }
  return out;
}

void say_why_only_files(std::string_view why, std::string_view shown) {
  say(fmt::format("{}; the {} is from the job's files", why, shown));
}

std::vector<KnownJob> known_by_files(const JobAtPath& job) {
  const std::string beside = fs::path(job.found.files.folder).parent_path().string();
  std::vector<KnownJob> all;
  for (const FoundFiles& found : search_files(job.found.id, {beside})) {
    all.push_back(forgotten_job(found));
    all.back().why_only_files = job.why_only_files;
  }
  return all;
}

Result<std::string> name_at(const std::string& word, const Environment& environment) {
  std::error_code error;
  if (!fs::is_directory(word, error) && !word.ends_with(".out")) return word;
  const auto job = job_at(word, environment);
  const std::string report = job && !job->is_known ? job->found.files.report() : std::string();
  return is_there(report) ? report : id_of(word, job);
}

Result<std::string> id_of(const std::string& word, const std::optional<JobAtPath>& job) {
  if (!job) return word;
  if (job->is_known) return job->found.id;
  std::string why = job->why_only_files;
  if (job->is_forgotten) why = summary_of(forgotten_job(job->found)).words + "; " + why;
  return fail(printable(word), why,
              "toprun status, logs and report show what the job's files contain");
}

KnownJob with_files(KnownJob known, JobFiles files) {
  add_files(known, std::move(files));
  (void)add_report(known);
  return known;
}

KnownJob known_job(const engines::Queue& queue, const Job& job, const Setups& setups) {
  KnownJob known = without_files(queue, job);
  if (auto files = files_of(queue, job)) known = with_files(std::move(known), *std::move(files));
  add_why_unstarted(known, queue, setups);
  return known;
}

std::vector<KnownJob> forgotten_jobs(const engines::Queue& queue, const std::string& id) {
  std::vector<KnownJob> all;
  const auto parsed = engines::parse_job_id(id);
  auto jobs = parsed ? queue.find(*parsed) : std::unexpected(parsed.error());
  if (jobs) leave_only(*parsed, *jobs);
  if (!jobs || !jobs->empty()) return all;
  for (const FoundFiles& found : search_files(id, likely_folders({}))) {
    all.push_back(forgotten_job(found));
  }
  return all;
}

KnownJob forgotten_job(const FoundFiles& found) {
  KnownJob known;
  known.id = found.id;
  return with_files(std::move(known), found.files);
}

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
  if (const auto job = files_at("."); job && has_evidence(*job)) {
    say(fmt::format("job {}, whose folder this is", job->id));
    return ".";
  }
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  std::map<std::string, std::optional<WallTime>> submitted;
  auto queue = engines::find_queue(environment);
  if (queue) {
    auto jobs = (*queue)->jobs(::getuid());
    if (!jobs) {
      if (jobs.error()->kind != ErrorKind::out_of_reach)
        return std::unexpected(std::move(jobs.error()));
      queue = std::unexpected(std::move(jobs.error()));
    }
    for (const engines::Job& job : jobs ? jobs->jobs : std::vector<Job>()) {
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
    if (queue) {
      return fail("you have submitted no job from this folder, according to the files in it", {},
                  fmt::format("give the job's id; {}", lists_of_jobs));
    }
    return fail("no job given, and this folder has no files of a job of yours", {},
                fmt::format("no cluster can be asked ({}); run this where you submit jobs, "
                            "or name the file of a job's --report",
                            queue.error()->why));
  }
  say(fmt::format("job {}, your latest in this folder", id));
  return id;
}

}  // namespace toprun::jobs
