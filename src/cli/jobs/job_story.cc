#include "cli/jobs/job_story.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/programs.h"

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

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view story_name = "story.jsonl";

json act_json(std::string_view what, const JobStory::Act& act) {
  return {{"act", what}, {"by", act.by}, {"at", rfc3339(act.at)}};
}

// nullopt: it does not say when.
std::optional<JobStory::Act> act_of(const json& line) {
  const auto at = time_in(text_at(line, "at"));
  if (!at) return std::nullopt;
  return JobStory::Act{text_at(line, "by"), *at};
}

// "12" and 3 of the folder LOGDIR/12_3.
struct OfArray {
  fs::path folder;  // empty: it is not a task's
  TaskNumbers tasks;
};

OfArray array_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const std::size_t underscore = name.find('_');
  if (underscore == std::string::npos) return {};
  return {folder.parent_path() / name.substr(0, underscore),
          parse_tasks(std::string_view(name).substr(underscore + 1)).value_or(TaskNumbers())};
}

void add_signal(const json& line, const TaskNumbers& requested, JobStory& story) {
  auto done = act_of(line);
  const std::string text = text_at(line, "tasks");
  const TaskNumbers tasks = parse_tasks(text).value_or(TaskNumbers());
  const bool is_of_others = !text.empty() && common_tasks(tasks, requested).empty();
  if (done && !is_of_others) story.signals.push_back({*std::move(done), text_at(line, "signal")});
}

void add_cancel(const json& line, const TaskNumbers& requested, JobStory& story) {
  auto done = act_of(line);
  if (!done) return;
  const std::string text = text_at(line, "tasks");
  const TaskNumbers tasks = parse_tasks(text).value_or(TaskNumbers());
  if (!text.empty() && common_tasks(tasks, requested).empty()) {
    story.cancelled_tasks = all_tasks(story.cancelled_tasks, tasks);
  } else {
    story.cancels.push_back(*std::move(done));
  }
}

// As the report's, it is only shown: a user who may write here can write that as well.
std::string text_in(const fs::path& folder) {
  return read_plain_file(folder / story_name, max_story_bytes).value_or("");
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

std::string id_of_tasks(const std::string& array, const TaskNumbers& tasks) {
  const std::string text = tasks_text(tasks);
  return tasks.size() == 1 ? fmt::format("{}_{}", array, text)
                           : fmt::format("{}_[{}]", array, text);
}

TaskNumbers tasks_meant(const engines::Job& job, const engines::JobId& id) {
  const auto requested = parse_tasks(id.task);
  const auto all = parse_tasks(job.task);
  if (!all) return requested.value_or(TaskNumbers());
  return requested ? common_tasks(*all, *requested) : *all;
}

void leave_only(const engines::JobId& id, std::vector<engines::Job>& jobs) {
  std::erase_if(jobs, [&](const engines::Job& job) {
    // The number of one task, or of a job without tasks.
    if (!id.task.empty() && job.array != id.number) return true;
    const bool is_known = parse_tasks(job.task) && parse_tasks(id.task);
    return is_known && tasks_meant(job, id).empty();
  });
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

// A story has no parts of seconds.
constexpr std::chrono::seconds time_of_an_act{1};

bool is_since(const JobStory::Act& act, WallTime began) {
  return act.at + time_of_an_act > began;
}

const JobStory::Act* cancel_since(const JobStory& story, WallTime began) {
  const auto first = std::ranges::find_if(
      story.cancels, [&](const JobStory::Act& act) { return is_since(act, began); });
  return first == story.cancels.end() ? nullptr : &*first;
}

std::string own_name(const Environment& environment) {
  return engines::user_name(environment, engines::engine_answer_limit);
}

std::string submission_line(const JobStory& story) {
  json line = act_json("submitted", story.submitted.value());
  line["name"] = story.name;
  if (!story.report.empty()) line["report"] = story.report;
  if (!story.launcher.empty()) line["launcher"] = story.launcher;
  return json_text(line) + '\n';
}

std::string cancel_line(const JobStory::Act& act, const TaskNumbers& tasks) {
  json line = act_json("cancelled", act);
  if (!tasks.empty()) line["tasks"] = tasks_text(tasks);
  return json_text(line) + '\n';
}

std::string signal_line(const JobStory::Signal& signal, const TaskNumbers& tasks) {
  json line = act_json("signalled", signal.act);
  line["signal"] = signal.name;
  if (!tasks.empty()) line["tasks"] = tasks_text(tasks);
  return json_text(line) + '\n';
}

JobStory parse_story(std::string_view text, const TaskNumbers& tasks) {
  JobStory story;
  for (const std::string_view piece : split(text, '\n')) {
    const json line = json_in(piece);
    const std::string act = text_at(line, "act");
    if (act == "cancelled") {
      add_cancel(line, tasks, story);
    } else if (act == "signalled") {
      add_signal(line, tasks, story);
    } else if (act == "submitted") {
      story.submitted = act_of(line);
      story.name = text_at(line, "name");
      story.report = text_at(line, "report");
      story.launcher = text_at(line, "launcher");
    }
  }
  return story;
}

JobStory read_story(const std::string& folder) {
  const OfArray array = array_of(folder);
  const std::string text = array.folder.empty() ? std::string() : text_in(array.folder);
  return parse_story(text + text_in(folder), array.tasks);
}

Result<void> add_to_story(const std::string& folder, const std::string& line) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return fail_errno(folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return fail(folder, "it is not a folder that you own");
  }
  const std::string path = (fs::path(folder) / story_name).string();
  const Fd file(::open(path.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file) return fail_errno("cannot write " + path);
  if (!write_all(file.get(), line)) return fail_errno("cannot write " + path);
  return {};
}

}  // namespace toprun::jobs
