#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::jobs {

// Numbers of array tasks, sorted, without duplicates.
using TaskNumbers = std::vector<std::int64_t>;

// Parses Slurm's form: "3", "1-3,7", "0-8:2", "[4-9%2]" (%2: at most 2 tasks at once). nullopt for
// other forms, such as a list that Slurm has truncated. Pure.
std::optional<TaskNumbers> parse_tasks(std::string_view text);
// "1-3,7".
std::string tasks_text(const TaskNumbers& tasks);
// Tasks that are in both lists.
TaskNumbers common_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Tasks that are in at least one of the lists.
TaskNumbers all_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Tasks of the first list that are not in the second.
TaskNumbers tasks_without(const TaskNumbers& all, const TaskNumbers& others);

}  // namespace toprun::jobs
