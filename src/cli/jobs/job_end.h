#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/os/look.h"
#include "engines/queue.h"

namespace toprun::jobs {

// Jobs of toprun setup that another job waits for, each with what it builds, whose record tells why
// it failed.
using Setups = std::map<std::string, std::string>;

// What a job has come to, and the code with which a verb that followed it exits.
struct JobEnding {
  int exit_code;
  std::string words;
};

// Whole: with the cause that the run itself names, be it long, or where the job was never begun,
// with what became of the one that it was to begin after.
JobEnding ending_of(const engines::Queue& queue, const engines::Job& job, const Setups& setups);

// "afterok:12(failed),afterany:13(unfulfilled)": the jobs that did not end as asked.
std::vector<std::string> failed_dependencies(std::string_view text);

// "toprun: job 17: failed: rank 0 on n0 …", in a colour, with a newline.
std::string end_line(const std::string& id, const JobEnding& ending, const Look& look);

}  // namespace toprun::jobs
