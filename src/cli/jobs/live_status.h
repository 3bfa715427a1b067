#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/text/outside.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_summary.h"
#include "engines/queue.h"

namespace toprun::jobs {

// A short status for each job in a list of jobs. The status is read only from the jobs' files,
// without queries to the jobs' agents or to Slurm.

inline constexpr std::size_t most_looked_at = 1'000;  // limit for the jobs whose files are read
inline constexpr std::size_t looks_at_once = 8;
inline constexpr std::chrono::milliseconds look_limit{2'000};

struct LiveStatus {
  std::string words;  // summary_of(): "hangs since 06:02:00: rank 2 …"
  Outside line;       // the last line that the job's ranks printed, without secrets; empty: no line
};

// Whether live_statuses() reads this job's files: the job has begun, has a folder and belongs to
// `uid`.
bool is_looked_at(const engines::Job& job, std::uint32_t uid);

// Returns the statuses of the user's jobs that have begun, by Job::id. Jobs whose files cannot be
// read within look_limit are left out.
std::map<std::string, LiveStatus> live_statuses(const engines::Queue& queue,
                                                const std::vector<engines::Job>& jobs,
                                                std::uint32_t uid);

// Returns "step 230 loss 0.0043", "running, restart 1 of 3: step 230 loss 0.0043". Pure.
std::string text_of(const LiveStatus& glance);

// Returns the ranks' last line in the most recently written HOST.out (a host's output file) of a
// job with files, or with --redirects in the newest of the ranks' own files. It has at most
// meter::longest_last_line bytes. Empty if the ranks of the current attempt have printed no line.
Outside last_line_in(const KnownJob& known);
// Returns the ranks' last line in `end_of_file`, the end of a HOST.out. Ignores toprun's own lines,
// and all lines before a restart. The first line of this text may be incomplete. Pure.
Outside last_line_of(std::string_view end_of_file);

// Returns the engine's own file's last line if it explains the job's end. Such a line is from
// toprun (without the prefix "toprun: "), from srun, or from the shell that runs the job's script.
// Empty if the file ends with another line.
Outside own_line_at_end(const JobFiles& files);
// Like own_line_at_end(), for the last line of this node's HOST.out. If a node lost the connection
// to the root agent, its own last line says so; the root agent's report cannot contain that line.
Outside own_line_of_node(const JobFiles& files, std::string_view node);
// Like own_line_at_end() above, for `end_of_file`, the end of the engine's file. Pure.
Outside own_line_at_end(std::string_view end_of_file);

}  // namespace toprun::jobs
