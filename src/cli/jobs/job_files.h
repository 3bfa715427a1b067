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

// Whether a file or folder exists at this path. Also false if this user has no permission to check
// the path.
bool is_there(const std::filesystem::path& path);

// The natural order of job ids. JobsById contains one job, or the tasks of an array.
struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};
using JobsById = std::map<std::string, engines::Job, NaturalOrder>;

// The paths of the files that a job writes: a job of `submit` or of any sbatch script.
//   LOGDIR/NAME.ID.out   the engine's own output file
//   LOGDIR/ID/           HOST.out, report.json, per-rank files; ID of an array's task: ARRAY_TASK
struct JobFiles {
  std::vector<std::string> own;  // the engine's output files; need not exist yet
  std::string folder;            // LOGDIR/ID; need not exist
  std::string report() const { return folder + "/report.json"; }
};

// Returns the job's files according to the engine (Slurm); nullopt: the engine does not know them.
std::optional<JobFiles> files_of(const engines::Queue& queue, const engines::Job& job);
// Returns the folders that may contain files of jobs that the engine has forgotten: the current
// folder, and the folders of `jobs`.
std::vector<std::string> likely_folders(const std::vector<engines::Job>& jobs);

// Returns "no files of this job were found below /work/ada": why search_files() in likely_folders()
// found nothing.
std::string no_files_text(const std::vector<engines::Job>& jobs);

// Where a user can look for the id of a job.
inline constexpr const char* lists_of_jobs =
    "toprun jobs lists your jobs, and toprun jobs --recent those that have ended";

// Returns the job's name, from the name of its output file: "train" for "logs/train.17.out". Empty
// if the job has no output file.
std::string name_in(const JobFiles& files, const std::string& id);

// Returns the --dependency of this folder's job, according to its job script:
// "afterok:3,afterany:12_4". Empty: there is none.
std::string dependency_in(const std::string& folder);

// Returns the working directory of this folder's job, according to its job script. Empty: unknown.
std::string directory_in(const std::string& folder);

// Returns what this folder's job of `toprun setup` builds, according to its job script: the folder
// of --venv or the file of --container. Empty: it is another job.
std::string built_in(const std::string& folder);

// The files of a job; the engine may have forgotten the job.
struct FoundFiles {
  std::string id;  // the job's id; for an array's task: "9_3"
  JobFiles files;
};
// Searches the folders in `below`, and one level deeper, for files of jobs with this id. For the id
// of an array job, the result contains the files of the array's tasks, in natural order; for
// "12_[0-3]", of these tasks. The result contains the files in the array's own folder only if no
// task has files.
std::vector<FoundFiles> search_files(const std::string& id, const std::vector<std::string>& below);

// Whether the job's ranks write to a file per rank instead of HOST.out. True if the job's script
// uses --redirects and such files exist.
bool has_files_per_rank_alone(const JobFiles& files);

// One file to show, and the host that wrote it.
struct LogFile {
  std::string path;
  std::string label;  // "n0"; empty: the engine's own file for the whole job
};

// Returns the files that the ranks of the last attempt write with --redirects and --tee. `report`:
// the job's report; null: the job's folder tells the attempt.
std::vector<LogFile> rank_files(const JobFiles& files, const JobReport* report);

// Returns the files of the jobs with this id. Searches the parent folder of `folder`, which is a
// job's folder.
std::vector<FoundFiles> files_beside(const std::string& folder, const std::string& id);

// Returns `found`, files of an array's tasks, without the tasks in `known`. nullopt: no task is
// left.
std::optional<FoundFiles> without_tasks(FoundFiles found, const std::string& array,
                                        const std::vector<std::int64_t>& known);

// Returns the files of this array's tasks in the folder of log files, without the tasks in `known`,
// in natural order.
std::vector<FoundFiles> other_tasks(const std::string& log_dir, const std::string& array,
                                    const std::vector<std::int64_t>& known);

// Returns the files of the job that a path names: its own folder (LOGDIR/ID), report.json or
// HOST.out in it, or LOGDIR/NAME.ID.out. nullopt: the path does not exist, is a single name that
// may be an id, or names something else.
std::optional<FoundFiles> files_at(const std::string& path);

// Whether the files are certainly of a job. HOST.out alone does not show this: another program may
// have written the file into a folder whose name is a number.
bool has_evidence(const FoundFiles& found);

// Returns the files of all jobs, with any id, in the folders in `below` and one level deeper.
std::vector<FoundFiles> all_files(const std::vector<std::string>& below);

// Selects a part of a job's output.
struct LogChoice {
  std::optional<int> rank;
  std::string node;
  std::optional<std::size_t> last_lines = {};  // of each file

  bool takes_all() const { return !rank && node.empty(); }
};

// Returns the output file of each host (HOST.out), in natural order.
std::vector<LogFile> node_files(const JobFiles& files);

// Whether the job ran on several nodes, according to its report.json, or else to the number of
// hosts with output.
bool has_several_nodes(const JobFiles& files);

// Moves the file of the root agent's host to the end of the list, because this file ends with the
// run's last lines. `host` is the host's own name, perhaps with a domain.
std::vector<LogFile> with_root_last(std::vector<LogFile> files, std::string_view host);

// Returns the files that exist now: hosts' files in natural order, then the engine's file. Error:
// no file matches `choice`. The error says which option would have created such a file.
Result<std::vector<LogFile>> log_files(const JobFiles& files, const LogChoice& choice);
// Like log_files() above, for several jobs, such as the tasks of an array. If a job has no matching
// files, its list is empty. Error: no job has matching files.
Result<std::vector<std::vector<LogFile>>> log_files(const std::vector<JobFiles>& jobs,
                                                    const LogChoice& choice);

}  // namespace toprun::jobs
