#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::jobs {

// Tasks of an array, ascending, each once.
using TaskNumbers = std::vector<std::int64_t>;

// Slurm's form: "3", "1-3,7", "0-8:2", "[4-9%2]" (%2: so many at once). nullopt: another form, as a
// list that Slurm has cut off. Pure.
std::optional<TaskNumbers> parse_tasks(std::string_view text);
// "1-3,7".
std::string tasks_text(const TaskNumbers& tasks);
// Those that are in both.
TaskNumbers common_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Those that are in one of both.
TaskNumbers all_tasks(const TaskNumbers& one, const TaskNumbers& other);
// Those of the first that the other lacks.
TaskNumbers tasks_without(const TaskNumbers& all, const TaskNumbers& others);

}  // namespace toprun::jobs
