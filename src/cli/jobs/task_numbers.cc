#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/text.h"
#include "cli/jobs/job_story.h"

namespace toprun::jobs {
namespace {

constexpr std::int64_t highest_task = 4'000'000;  // Slurm's greatest MaxArraySize allows it

// "7", "1-3" or "0-8:2". False: another form.
bool add_range(std::string_view piece, TaskNumbers& tasks) {
  const std::size_t colon = piece.find(':');
  const auto step =
      colon == piece.npos ? std::optional<std::int64_t>(1) : parse_int(piece.substr(colon + 1));
  const std::string_view ends = piece.substr(0, colon);
  const std::size_t dash = ends.find('-');
  const auto first = parse_int(ends.substr(0, dash));
  const auto last = dash == ends.npos ? first : parse_int(ends.substr(dash + 1));
  if (!step || !first || !last || *step < 1 || *first < 0 || *last > highest_task) return false;
  for (std::int64_t task = *first; task <= *last; task += *step) tasks.push_back(task);
  return true;
}

}  // namespace

std::optional<TaskNumbers> parse_tasks(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  TaskNumbers tasks;
  for (const std::string_view piece : split(text, ',')) {
    if (!add_range(piece, tasks)) return std::nullopt;
    if (std::ssize(tasks) > 2 * highest_task) return std::nullopt;
  }
  std::ranges::sort(tasks);
  const auto twice = std::ranges::unique(tasks);
  tasks.erase(twice.begin(), twice.end());
  return tasks;
}

std::string tasks_text(const TaskNumbers& tasks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0, first = 0; i < tasks.size(); ++i) {
    if (i + 1 < tasks.size() && tasks[i + 1] == tasks[i] + 1) continue;
    ranges.push_back(first == i ? fmt::to_string(tasks[i])
                                : fmt::format("{}-{}", tasks[first], tasks[i]));
    first = i + 1;
  }
  return join(ranges, ",");
}

TaskNumbers common_tasks(const TaskNumbers& one, const TaskNumbers& other) {
  TaskNumbers common;
  std::ranges::set_intersection(one, other, std::back_inserter(common));
  return common;
}

TaskNumbers all_tasks(const TaskNumbers& one, const TaskNumbers& other) {
  TaskNumbers all;
  std::ranges::set_union(one, other, std::back_inserter(all));
  return all;
}

TaskNumbers tasks_without(const TaskNumbers& all, const TaskNumbers& others) {
  TaskNumbers rest;
  std::ranges::set_difference(all, others, std::back_inserter(rest));
  return rest;
}

}  // namespace toprun::jobs
