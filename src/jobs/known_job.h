#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_files.h"
#include "jobs/job_report.h"
#include "scheduler/queue.h"

namespace toprun::jobs {

// One job, its files on disk, and its run's own report.
struct KnownJob {
  std::string id;
  std::optional<scheduler::Job> job;  // unset: only its files are known
  std::optional<JobFiles> files;
  std::optional<JobReport> report;
};

using FoundQueue = Result<std::unique_ptr<scheduler::Queue>>;

// One record per task of an array. If the engine forgot the job, or there is no engine, the record
// comes from its files below the current folder and below `log_dir`. Empty: the job is unknown.
Result<std::vector<KnownJob>> find_known(const scheduler::JobId& id, const FoundQueue& queue,
                                         const std::string& log_dir = {});

// How the last attempt of its run ended, in words; empty: successfully, or there is no record.
std::string cause_of(const KnownJob& known);

// How a job ended, with the cause from its run's report: "failed, exit code 3: rank 0 on n0 …".
std::string end_with_cause(const scheduler::Queue& queue, const KnownJob& known);

}  // namespace toprun::jobs
