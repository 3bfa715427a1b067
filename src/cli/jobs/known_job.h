#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/jobs/job_files.h"
#include "cli/jobs/job_report.h"
#include "cli/jobs/job_story.h"
#include "engines/queue.h"

namespace toprun::jobs {

// One job: what its engine says, its files on disk, our own story of it and its run's report.
struct KnownJob {
  std::string id;
  std::optional<engines::Job> job;  // unset: only its files are known
  std::string engine_words;  // its state in words, or how it ended; empty: only its files are known
  std::string engine_words_beside_code;  // … without its exit code
  std::optional<JobFiles> files;
  Outside name;  // by its files
  JobStory story;
  std::vector<std::string> waited_for;  // jobs, if its files show that it has not begun
  std::optional<JobReport> report;
};

using FoundQueue = Result<std::unique_ptr<engines::Queue>>;

// One record per task of an array. If the engine forgot the job, or there is no engine, the record
// comes from its files below the current folder and below `log_dir`. Empty: the job is unknown.
Result<std::vector<KnownJob>> find_known(const engines::JobId& id, const FoundQueue& queue,
                                         const std::string& log_dir = {});

// The same for lists: a report that cannot be read is none.
KnownJob known_job(const engines::Queue& queue, const engines::Job& job);
KnownJob forgotten_job(const FoundFiles& found);
// What the files below the current folder tell of jobs of this id, where the engine answers that it
// does not know them.
std::vector<KnownJob> forgotten_jobs(const engines::Queue& queue, const std::string& id);
KnownJob with_files(KnownJob known, JobFiles files);
KnownJob without_files(const engines::Queue& queue, const engines::Job& job);

}  // namespace toprun::jobs
