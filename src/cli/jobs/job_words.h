#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/style.h"
#include "cli/jobs/known_job.h"
#include "engines/queue.h"

namespace toprun::jobs {

// Formats jobs, as text and as JSON, for the toprun verbs that show jobs.

// Returns the state's name in JSON: "pending".
std::string name_of(engines::JobState state);
// Returns a duration in Slurm's format: "0:03", "1:02:03", "1-02:03:04".
std::string clock_text(std::chrono::seconds time);
// Returns why a job waits: the engine's reason and its meaning ("Resources: the nodes …"), or only
// the reason if its meaning is unknown.
std::string reason_text(const engines::Queue& queue, const engines::Job& job);
// Returns the job's id for a command line, quoted for a shell. If `job` stands for several waiting
// tasks of an array, the result is the array's id.
std::string id_word(const engines::Job& job);
std::string id_word(const std::string& id);
enum class ExitCode { shown, left_out };
// Returns how a job ended: "failed, exit code 3", "cancelled by …".
std::string end_text(const engines::Queue& queue, const engines::Job& job,
                     ExitCode shown = ExitCode::shown);

// Returns "42 % done, 1:03:00 left, loss 0.31; reported at 2026-11-22 03:26:11".
std::string progress_text(const engines::Progress& progress);

// Parses a word of a command line as a job id. Error (exit 2): the word is not an id, or is the
// name of a folder that contains jobs' folders, and the engine knows no job with this name. If the
// word is a path, the error says whether the file exists.
Result<engines::JobId> job_id_in(const std::string& word, const Environment& environment);

// Returns the queue of the engine whose ids have this form. Error: `id` is not an id, or the engine
// is not available.
Result<std::unique_ptr<engines::Queue>> queue_of(const std::string& id,
                                                 const Environment& environment);
// Returns the job with the id that the user typed, or each task of an array. If `record`
// (Job::number) is given, the result is only the job with this number. Error: `text` is not an id,
// or the engine does not find the job. The error says why the job was not found, and where else the
// user can look for it.
Result<std::vector<engines::Job>> jobs_of(const engines::Queue& queue, const std::string& text,
                                          const std::string& record = {});

// Returns a table with squeue's columns: JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON).
// Running and waiting jobs are coloured. The last column, STATUS, contains the elements of
// `status`; the column is left out if all elements are empty. Below the table, after an empty line,
// each reason for which a job waits is explained. On a terminal, STATUS is cut to fit the width.
std::string jobs_table(const engines::Queue& queue, const std::vector<engines::Job>& jobs,
                       const std::vector<std::string>& status, const Style& style);

// Returns the colour for a state.
Colour colour_of(engines::JobState state);

nlohmann::json job_json(const engines::Queue& queue, const engines::Job& job);

// How a job ended, and the exit code of the verb that waited for it.
struct JobEnding {
  int exit_code;
  std::string words;
};

// Returns the full description, with the cause that the run reported, even if this text is long.
// For a job that never began, the description says how the job on which it depended has ended.
JobEnding ending_of(const engines::Queue& queue, const engines::Job& job, const Setups& setups);

// Like ending_of(), for a job that the engine has forgotten, so that only its files are known.
JobEnding ending_by_files(const engines::Queue& queue, const KnownJob& known);

// Returns why a job can never begin (JobEnd::dependency): "job 12 failed: …" for each job that did
// not end as required. Never empty.
std::vector<std::string> failed_predecessors(const engines::Queue& queue, const engines::Job& job,
                                             const Setups& setups = {});

// Returns the jobs in "afterok:12(failed),afterany:13(unfulfilled)" that did not end as required.
std::vector<std::string> failed_dependencies(std::string_view text);

// Returns "toprun: job 17: failed: rank 0 on n0 …", in a colour, with a newline.
std::string end_line(const std::string& id, const JobEnding& ending, const Style& style);

}  // namespace toprun::jobs
