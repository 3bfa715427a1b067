#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/text/outside.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_told.h"
#include "engines/queue.h"

namespace toprun::jobs {

// What a short look at the files of jobs tells, for lists. It asks neither their agents nor Slurm.

inline constexpr std::size_t most_looked_at = 1'000;  // jobs
inline constexpr std::size_t looks_at_once = 8;
inline constexpr std::chrono::milliseconds look_limit{2'000};

struct Glance {
  std::string words;  // told(): "hangs since 06:02:00: rank 2 …"
  Outside line;       // what its ranks have printed last, without secrets; empty: nothing
};

// Whether there may be something in files of this user's.
bool is_looked_at(const engines::Job& job, std::uint32_t uid);

// By Job::id: those jobs of this user that have begun and whose files answer within look_limit.
std::map<std::string, Glance> glances(const engines::Queue& queue,
                                      const std::vector<engines::Job>& jobs, std::uint32_t uid);

// "step 230 loss 0.0043", "running, restart 1 of 3: step 230 loss 0.0043". Pure.
std::string text_of(const Glance& glance);

// The last line of the ranks in the file of the node that wrote last; at most
// meter::longest_last_line. Empty: there is none.
Outside last_line_in(const JobFiles& files);
// In the end of a node's file, whose first line may be cut; lines of toprun's own do not
// count. Pure.
Outside last_line_of(std::string_view end_of_file);

}  // namespace toprun::jobs
