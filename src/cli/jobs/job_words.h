#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/look.h"
#include "engines/queue.h"

namespace toprun::jobs {

// How the verbs about jobs write a job, for people and for programs.

// In JSON: "pending".
std::string name_of(engines::JobState state);
// As Slurm writes times: "0:03", "1:02:03", "1-02:03:04".
std::string clock_text(std::chrono::seconds time);
// The local time without a zone: "2026-11-22 03:26:11".
std::string time_text(WallTime time);
// "Resources: the nodes …", or the engine's word alone.
std::string reason_text(const engines::Queue& queue, const engines::Job& job);
// The job's id for a command line, quoted for a shell; the array's id for tasks that wait together.
std::string id_word(const engines::Job& job);
std::string id_word(const std::string& id);
// "Failed, exit code 7", "PENDING", "Suspended: its pods are …".
std::string state_text(const engines::Queue& queue, const engines::Job& job);
enum class ExitCode { shown, left_out };
// "failed, exit code 3", "cancelled by …", for a job that has ended.
std::string end_text(const engines::Queue& queue, const engines::Job& job,
                     ExitCode shown = ExitCode::shown);

// "42 % done, 1:03:00 left, loss 0.31; told at 2026-11-22 03:26:11".
std::string progress_text(const engines::Progress& progress);

// The engine that has jobs of such ids. Error: it is not an id, or there is no such engine.
Result<std::unique_ptr<engines::Queue>> queue_of(const std::string& id,
                                                 const Environment& environment);
// The job with the id that the user typed, or each task of an array; with a `record` (Job::number)
// that one alone. Error: it is not an id, or the engine does not find it; the error says why and
// where else to look.
Result<std::vector<engines::Job>> jobs_of(const engines::Queue& queue, const std::string& text,
                                          const std::string& record = {});

// Slurm's columns, running and waiting jobs in colours: JOBID PARTITION NAME USER ST TIME NODES
// NODELIST(REASON), and behind them STATUS, one of `status` for each job, unless all are empty;
// then, after an empty line, each reason for waiting in words. On a terminal STATUS is shortened to
// its width.
std::string jobs_table(const engines::Queue& queue, const std::vector<engines::Job>& jobs,
                       const std::vector<std::string>& status, const Look& look);

// The colour of a state.
Colour colour_of(engines::JobState state);

nlohmann::json job_json(const engines::Queue& queue, const engines::Job& job);

}  // namespace toprun::jobs
