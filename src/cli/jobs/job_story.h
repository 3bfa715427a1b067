#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "base/text/outside.h"
#include "cli/jobs/task_numbers.h"

namespace toprun::jobs {

inline constexpr std::size_t max_story_bytes = 1u << 20;

// What toprun's verbs did to a job. Slurm forgets it, and mostly never knew who.
struct JobStory {
  struct Act {
    Outside by;  // the user's name
    WallTime at{};
  };
  Outside name;  // of the job, as it was submitted; empty: not told
  std::optional<Act> submitted;
  std::optional<Act> cancelled;  // the latest
  TaskNumbers cancelled_tasks;   // in an array's own story: those that were cancelled by themselves
};

// The user of this process, as a story names users.
std::string own_name(const Environment& environment);

// A line of JSON per act, with its line end. Pure.
std::string submission_line(const JobStory::Act& act, const std::string& job_name);
// `tasks`: in an array's own story, those that it is about; empty: the whole job.
std::string cancel_line(const JobStory::Act& act, const TaskNumbers& tasks = {});
// Passes over what is not such a line, and what is about tasks that are not among `tasks`; these
// are empty for a whole job. Pure.
JobStory parse_story(std::string_view text, const TaskNumbers& tasks = {});

// Of the job with this folder (LOGDIR/ID) and, for a task of an array, of the array. Empty where
// there is none.
JobStory read_story(const std::string& folder);
// Adds a line to it. Error: there is no such folder of this user's, or it cannot be written.
Result<void> add_to_story(const std::string& folder, const std::string& line);

}  // namespace toprun::jobs
