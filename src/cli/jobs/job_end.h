#pragma once

#include <string>
#include <vector>

#include "base/os/style.h"
#include "cli/jobs/known_job.h"
#include "engines/queue.h"

namespace toprun::jobs {

// How a job ended, and the exit code of the verb that followed the job.
struct JobEnding {
  int exit_code;
  std::string words;
};

// The full description, with the cause that the run reported, even if this text is long. For a job
// that never began, the description says how the job on which it depended has ended.
JobEnding ending_of(const engines::Queue& queue, const engines::Job& job, const Setups& setups);

// For a job that can never begin (JobEnd::dependency): "job 12 failed: …" for each job on which it
// depends in vain. Never empty.
std::vector<std::string> failed_predecessors(const engines::Queue& queue, const engines::Job& job,
                                             const Setups& setups = {});

// "afterok:12(failed),afterany:13(unfulfilled)": the jobs that did not end as required.
std::vector<std::string> failed_dependencies(std::string_view text);

// "toprun: job 17: failed: rank 0 on n0 …", in a colour, with a newline.
std::string end_line(const std::string& id, const JobEnding& ending, const Style& style);

}  // namespace toprun::jobs
