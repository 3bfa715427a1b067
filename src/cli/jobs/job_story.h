#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "base/text/outside.h"
#include "engines/queue.h"

namespace toprun::jobs {

// Numbers of array tasks, sorted, without duplicates.
using TaskNumbers = std::vector<std::int64_t>;

// Parses Slurm's form: "3", "1-3,7", "0-8:2", "[4-9%2]" (%2: at most 2 tasks at once). nullopt for
// other forms, such as a list that Slurm has truncated. Pure.
std::optional<TaskNumbers> parse_tasks(std::string_view text);
// Returns the numbers in Slurm's form: "1-3,7".
std::string tasks_text(const TaskNumbers& tasks);
// Returns the id of these tasks of an array: "9_3", "9_[3-4]".
std::string id_of_tasks(const std::string& array, const TaskNumbers& tasks);
// Returns those tasks of `job`, a record of the engine, that `id` names. If the record's tasks are
// unknown, all tasks that `id` names. Empty: all tasks are meant, or the tasks are unknown.
TaskNumbers tasks_meant(const engines::Job& job, const engines::JobId& id);
// Removes from `jobs` the records that contain none of the tasks in `id`. This is necessary because
// the engine is asked for a whole array, even if the id names only some of its tasks ("12_[3-4]").
void leave_only(const engines::JobId& id, std::vector<engines::Job>& jobs);
// Returns the tasks that are in both lists.
TaskNumbers common_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Returns the tasks that are in at least one of the lists.
TaskNumbers all_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Returns the tasks of the first list that are not in the second.
TaskNumbers tasks_without(const TaskNumbers& all, const TaskNumbers& others);

inline constexpr std::size_t max_story_bytes = 1u << 20;

// A log (story) of what users did to a job by toprun's verbs. Slurm forgets these actions, and
// usually does not record which user did them.
struct JobStory {
  struct Act {
    Outside by;  // the user's name
    WallTime at{};
  };
  Outside name;        // the job's name at its submission; empty: unknown
  std::string report;  // the absolute path of --report at its submission; empty: not given
  // --launcher at its submission: "mpirun"; empty: toprun starts the ranks, or it is unknown
  std::string launcher;
  std::optional<Act> submitted;
  std::vector<Act> cancels = {};  // oldest first
  struct Signal {
    Act act;
    Outside name;  // "TERM"
  };
  std::vector<Signal> signals = {};  // sent by `toprun cancel --signal`, oldest first
  TaskNumbers cancelled_tasks = {};  // in an array's story: tasks that were cancelled separately
};

// Whether the act may have happened after the run began.
bool is_since(const JobStory::Act& act, WallTime began);
// Returns the cancellation that ended a run; `began` is the run's start. This is the first
// cancellation after `began`, because a later cancellation finds the run already ended. Null if
// there is none.
const JobStory::Act* cancel_since(const JobStory& story, WallTime began);

// Returns the name of this process's user, as written in a job's log (story).
std::string own_name(const Environment& environment);

// Returns a line about a submission for the job's log (story). The line is JSON, ends in a line
// end, and contains `submitted`, which must be set, and the fields that are known at the
// submission. Pure.
std::string submission_line(const JobStory& story);
// Returns a line about a cancellation for the job's log (story). `tasks`: the array's cancelled
// tasks; empty: all.
std::string cancel_line(const JobStory::Act& act, const TaskNumbers& tasks = {});
// Returns a line about a signal ("TERM") that the user sent to the job, or to these tasks.
std::string signal_line(const JobStory::Signal& signal, const TaskNumbers& tasks = {});
// Parses a story. Ignores invalid lines, and lines about tasks that are not in `tasks`. `tasks` is
// empty for a whole job. Pure.
JobStory parse_story(std::string_view text, const TaskNumbers& tasks = {});

// Reads the log (story) of the job with this folder (LOGDIR/ID). For a task of an array, the result
// includes the array's log. Empty if there is no log.
JobStory read_story(const std::string& folder);
// Appends a line to a job's log (story). Error: the folder does not exist or does not belong to
// this user, or writing failed.
Result<void> add_to_story(const std::string& folder, const std::string& line);

}  // namespace toprun::jobs
