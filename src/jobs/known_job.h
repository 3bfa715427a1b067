#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_files.h"
#include "jobs/job_report.h"
#include "scheduler/queue.h"

namespace toprun::jobs {

// One job, what it left on disk, and what its run says of itself.
struct KnownJob {
  std::string id;
  std::optional<scheduler::Job> job;  // unset: only its files are known
  std::optional<JobFiles> files;
  std::optional<JobReport> report;
};

using FoundQueue = Result<std::unique_ptr<scheduler::Queue>>;

// A record per task of an array. Of a job that the engine has forgotten, or where there is no
// engine, what its files tell: below the folder where we are, and below `log_dir`. Empty:
// nobody knows such a job.
Result<std::vector<KnownJob>> find_known(const scheduler::JobId& id, const FoundQueue& queue,
                                         const std::string& log_dir = {});

// How the last attempt of its run ended, in words; empty: well, or there is no record of it.
std::string cause_of(const KnownJob& known);

// How a job has ended, with the cause that its run names: "failed, exit code 3: rank 0 on n0 …".
std::string end_with_cause(const scheduler::Queue& queue, const KnownJob& known);

}  // namespace toprun::jobs
