#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "cli/jobs/job_report.h"
#include "engines/queue.h"

namespace toprun::jobs {

// Whether anything is at this path; false also where this user may not look.
bool is_there(const std::filesystem::path& path);

// The tasks of an array, or one job, by id in natural order.
struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};
using JobsById = std::map<std::string, engines::Job, NaturalOrder>;

// Where the files of one job lie: what `submit` laid down, or what any sbatch script left.
//   LOGDIR/NAME.ID.out   the engine's own
//   LOGDIR/ID/           HOST.out, report.json, per-rank files; ID of an array's task: ARRAY_TASK
struct JobFiles {
  std::vector<std::string> own;  // the engine's output files; need not exist yet
  std::string folder;            // LOGDIR/ID; need not exist
  std::string report() const { return folder + "/report.json"; }
};

// By what the engine says of the job's files; nullopt: it does not say.
std::optional<JobFiles> files_of(const engines::Queue& queue, const engines::Job& job);
// Where jobs that the engine has forgotten may have left their files: here, and where they ran.
std::vector<std::string> likely_folders(const std::vector<engines::Job>& jobs);

// The name of the job with this id, from that of its output file: "train" of "logs/train.17.out".
// Empty: it has no such file.
std::string name_in(const JobFiles& files, const std::string& id);

// The jobs that the script in this folder waits for before it begins ("3", "12_4"). Pure but for
// the file.
std::vector<std::string> jobs_waited_for(const std::string& folder);

// What a job that no engine may know any more has left.
struct FoundFiles {
  std::string id;  // of an array's task: "9_3"
  JobFiles files;
};
// By looking below these folders, and one level deeper, for what jobs of this id leave; of an array
// job's id its tasks', in natural order, and the array's own folder only if no task has files.
std::vector<FoundFiles> search_files(const std::string& id, const std::vector<std::string>& below);

// Everything that jobs of any id have left below these folders, and one level deeper.
std::vector<FoundFiles> all_files(const std::vector<std::string>& below);

// Which of a job's output is wanted.
struct LogChoice {
  std::optional<int> rank;
  std::string node;

  bool takes_all() const { return !rank && node.empty(); }
};

// One file to be shown and whose it is.
struct LogFile {
  std::string path;
  std::string label;  // "n0"; empty: the engine's own, of the job as a whole
};

// HOST.out of each host, in natural order.
std::vector<LogFile> node_files(const JobFiles& files);

// Whether the job ran on several nodes, as far as its files tell: by its report, else by the hosts
// that have printed.
bool has_several_nodes(const JobFiles& files);

// The file of the root agent's host goes behind those of the other hosts: it ends with what the run
// said of its end. `host`: its own name of itself, which may have a domain.
std::vector<LogFile> with_root_last(std::vector<LogFile> files, std::string_view host);

// The files that exist now, hosts in natural order, then the engine's. Error: there is none of the
// choice, and what would have made it.
Result<std::vector<LogFile>> log_files(const JobFiles& files, const LogChoice& choice);
// The same for each of these jobs, as an array's tasks; none for one that lacks what others have.
// Error: all lack it.
Result<std::vector<std::vector<LogFile>>> log_files(const std::vector<JobFiles>& jobs,
                                                    const LogChoice& choice);

}  // namespace toprun::jobs
