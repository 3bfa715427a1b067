#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_report.h"
#include "cli/jobs/job_story.h"
#include "engines/queue.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::jobs {

// Everything known about a job: the answer from the engine (Slurm), the job's files, toprun's own
// log of the job (job_story.h), and the report.json of its run.
struct KnownJob {
  std::string id;
  std::optional<engines::Job> job;  // unset: only the job's files are known
  // the state, or how the job ended, in words; empty: only the job's files are known
  std::string engine_words;
  std::string engine_words_beside_code;  // engine_words without the exit code
  std::optional<JobFiles> files;
  bool has_output = true;  // false: the job has files, and none of them is of a run
  Outside name;            // the job's name, from its files
  JobStory story;
  // the jobs for which this job waits, if its files show that it has not begun
  std::vector<std::string> waited_for;
  // why the job never started, if other jobs are the reason: "job 3 failed: rank 0 on n0 …"
  std::vector<std::string> failed_predecessors;
  std::optional<JobReport> report;
  // toprun's line at the end of the engine's file; set only if no other source says how the job
  // ended or why it failed
  Outside last_line;
  std::optional<setup::Record> setup;  // of a job of `toprun setup`: the record of its own build
  std::string later_setup;             // the later job whose record has replaced this job's record
  // why only the job's files are known: "Slurm has forgotten it"; empty: the job's queue shows why
  std::string why_only_files = {};
};

using FoundQueue = Result<std::unique_ptr<engines::Queue>>;

// Returns the jobs that the engine knows under this id. If the engine is Slurm and this host
// belongs to none of its clusters, stores the error in `queue` and returns an empty list, as if
// there were no engine.
Result<std::vector<engines::Job>> find_in(FoundQueue& queue, const engines::JobId& id);

// Returns the files of an array's tasks that the engine has forgotten while it still knows other
// tasks (`jobs`). Empty if the job is not an array, or if the user named single tasks.
std::vector<FoundFiles> forgotten_tasks(const engines::Queue& queue, const engines::JobId& id,
                                        const std::vector<engines::Job>& jobs);

// Returns all that is known about a job; for an array, one element per task. If the engine has
// forgotten the job or a task, or there is no engine, the data come from the job's files. If the
// engine has forgotten the whole job, its files are searched in the current folder and in
// `log_dir`. Empty if the job is unknown. `queue` changes as in find_in().
Result<std::vector<KnownJob>> find_known(const engines::JobId& id, FoundQueue& queue,
                                         const std::string& log_dir = {});

// The job whose folder or report.json a path names.
struct JobAtPath {
  FoundFiles found;
  // true: the engine's job with this id is this job, and not another cluster's job with its number
  bool is_known = false;
  bool is_forgotten = false;  // the engine answers, and does not know the job
  // "Slurm has forgotten it", or the line of the error, if the engine cannot be asked; empty if
  // is_known
  std::string why_only_files;
};
// Returns nullopt if the path names no job (files_at()). Queries the engine.
std::optional<JobAtPath> job_at(const std::string& path, const Environment& environment);
// Says why what is shown ("state") comes only from the job's files.
void say_why_only_files(std::string_view why, std::string_view shown);
// Returns the job's data from its files; for an array, one element per task.
std::vector<KnownJob> known_by_files(const JobAtPath& job);
// Returns how to name the job of a command line's word: the id, if the word is the job's folder and
// the engine knows the job; the report in this folder, if the engine does not; the word, if it
// names no job's folder. Error: as of id_of().
Result<std::string> name_at(const std::string& word, const Environment& environment);
// Like name_at(), for verbs that take no report. `job`: what job_at() returned for the word. Error:
// only the job's files are known, and why.
Result<std::string> id_of(const std::string& word, const std::optional<JobAtPath>& job);

// The ids of jobs of `toprun setup` that another job waits for. Each id is mapped to the path that
// the setup job builds. If the setup fails, the setup record at this path contains the reason.
using Setups = std::map<std::string, std::string>;

// Returns what is known about a job that a list of jobs shows. An unreadable report.json counts as
// missing.
KnownJob known_job(const engines::Queue& queue, const engines::Job& job, const Setups& setups = {});
KnownJob forgotten_job(const FoundFiles& found);
// If the engine does not know this id, returns the jobs with this id according to files in the
// current folder.
std::vector<KnownJob> forgotten_jobs(const engines::Queue& queue, const std::string& id);
KnownJob with_files(KnownJob known, JobFiles files);
KnownJob without_files(const engines::Queue& queue, const engines::Job& job);

// Returns "." if the current folder is a job's folder; otherwise the id of the job that this user
// last submitted from the current folder; for a task of an array, the array's id. The sources are
// the engine, if it is available, and the files in the folder. Error: no job was found. Prints the
// job on stderr.
Result<std::string> latest_job_here(const Environment& environment);

// A job's id and its time of submission; nullopt if the time is unknown.
using Submission = std::pair<std::string, std::optional<WallTime>>;

// Returns the id of the latest submission; empty if there are no jobs. If one of two times has only
// whole seconds, only whole seconds are compared. Two jobs without times are compared by number,
// because Slurm numbers jobs in order of submission. Times have priority over numbers, because a
// folder can contain jobs of two clusters, or of a cluster that restarted its numbering. Pure.
std::string latest_of(const std::vector<Submission>& jobs);

}  // namespace toprun::jobs
