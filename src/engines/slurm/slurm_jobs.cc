#include "engines/slurm/slurm_jobs.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text/text.h"
#include "engines/slurm/patterns.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/words.h"

namespace toprun::engines::slurm {
namespace {

constexpr std::string_view field_end = "\x1f";
constexpr std::string_view record_end = "\x1e";

constexpr std::int64_t most_restarts = 1'000'000;
// Of squeue's columns: "12345678_1234567", "1000000", "1795317970".
constexpr int id_width = 40;
constexpr int count_width = 12;
constexpr int time_width = 24;

// A column of a program's table, and its field. The name is the last column, because it may contain
// separators.
struct Column {
  std::string_view format;
  void (*read)(std::string_view text, Job& job);
};

std::string text_of(std::string_view value) {
  const bool none = value == "(null)" || value == "N/A" || value == "None" || value == "Unknown";
  return none ? std::string() : std::string(value);
}

int restarts_of(std::string_view text) {
  return static_cast<int>(
      std::clamp<std::int64_t>(leading_number(text).value_or(0), 0, most_restarts));
}

void read_state(std::string_view text, Job& job) {
  job.state_word = std::string(text.substr(0, text.find_first_of(" +,")));
  if (const State* state = find_state(text)) {
    job.state = state->state;
    job.end = state->end;
    job.state_code = std::string(state->code);
  }
}

void read_uid(std::string_view text, Job& job) {
  const auto uid = parse_int(text);
  if (uid && *uid >= 0 && *uid <= UINT32_MAX) job.uid = static_cast<std::uint32_t>(*uid);
}

// "1:0" is exit code 1, "0:9" is signal 9.
void read_exit_code(std::string_view text, Job& job) {
  const auto parts = split(text, ':');
  const auto code = parse_int(parts[0]);
  if (parts.size() != 2 || !code || *code < 0 || *code > 255) return;
  const auto signal = parse_int(parts[1]);
  job.exit_code = static_cast<int>(*code);
  if (signal && *signal > 0 && *signal < 128) job.signal = static_cast<int>(*signal);
}

void read_folder(std::string_view text, Job& job) {
  job.folder = text_of(text);
}
void read_limit(std::string_view text, Job& job) {
  job.limit = duration(text);
  if (job.limit >= days_of_unlimited) job.limit.reset();
  job.limit_of_partition = text == "Partition_Limit" || text == "NOT_SET";
}
void read_nodes(std::string_view text, Job& job) {
  job.nodes = leading_number(text).value_or(0);
}
void read_submitted(std::string_view text, Job& job) {
  job.submitted = moment(text);
}
void read_started(std::string_view text, Job& job) {
  job.started = moment(text);
}
void read_not_before(std::string_view text, Job& job) {
  if (job.state == JobState::pending) job.not_before = moment(text);
}
void read_ended(std::string_view text, Job& job) {
  job.ended = moment(text);
}
void read_partition(std::string_view text, Job& job) {
  job.partition = text_of(text);
}
void read_user(std::string_view text, Job& job) {
  job.user = text_of(text);
}
void read_node_list(std::string_view text, Job& job) {
  job.node_list = text == "None assigned" ? std::string() : text_of(text);
}
void read_reason(std::string_view text, Job& job) {
  job.reason = text_of(text);
}
void read_name(std::string_view text, Job& job) {
  job.name = std::string(text);
}
void read_id(std::string_view text, Job& job) {
  job.id = std::string(text);
}
void read_number(std::string_view text, Job& job) {
  job.number = std::string(text);
}

// squeue(1), --format.
constexpr std::array squeue_columns = {
    Column{"%i", read_id},
    Column{"%A", read_number},
    Column{"%P", read_partition},
    Column{"%u", read_user},
    Column{"%U", read_uid},
    Column{"%T", read_state},
    Column{"%M", [](std::string_view text, Job& job) { job.used = duration(text); }},
    Column{"%l", read_limit},
    Column{"%D", read_nodes},
    Column{"%N", read_node_list},
    Column{"%r", read_reason},
    Column{"%V", read_submitted},
    Column{"%S", read_started},
    Column{"%e", read_ended},
    Column{"%E", [](std::string_view text, Job& job) { job.dependency = text_of(text); }},
    Column{"%Q", [](std::string_view text, Job& job) { job.priority = parse_int(text); }},
    Column{"%Z", read_folder},
    Column{"%j", read_name},
};

// sacct(1), --format.
constexpr std::array sacct_columns = {
    Column{"JobID", read_id},
    Column{"JobIDRaw", read_number},
    Column{"Partition", read_partition},
    Column{"User", read_user},
    Column{"UID", read_uid},
    Column{"State", read_state},
    Column{"ExitCode", read_exit_code},
    Column{"Elapsed", [](std::string_view text, Job& job) { job.used = duration(text); }},
    Column{"Timelimit", read_limit},
    Column{"NNodes", read_nodes},
    Column{"NodeList", read_node_list},
    Column{"Reason", read_reason},
    Column{"Submit", read_submitted},
    Column{"Start", read_started},
    Column{"End", read_ended},
    Column{"WorkDir", read_folder},
    Column{"JobName", read_name},
};

// Of an array whose waiting tasks were cancelled one by one, a record without tasks remains.
void drop_no_task(Job& job) {
  if (job.task != no_task) return;
  job.task.clear();
  job.id = job.array;
}

// "12_3" and "12_[4-9%2]" are tasks of array 12.
void split_id(Job& job) {
  const std::size_t underscore = job.id.find('_');
  if (underscore == std::string::npos) return;
  job.array = job.id.substr(0, underscore);
  std::string_view task = std::string_view(job.id).substr(underscore + 1);
  if (task.starts_with('[') && task.ends_with(']')) task = task.substr(1, task.size() - 2);
  job.task = std::string(task);
  drop_no_task(job);
}

// "12_3", "12_[4-9%2]".
std::string id_of_tasks(const Job& job) {
  return fmt::format("{}_{}", job.array, has_several_tasks(job) ? "[" + job.task + "]" : job.task);
}

// "2%2" is task 2 of an array that runs at most 2 tasks at a time. That limit says nothing about
// tasks that have ended.
void drop_throttle(Job& job) {
  const std::size_t limit = job.task.find('%');
  if (limit == std::string::npos || !has_ended(job.state)) return;
  job.task.erase(limit);
  job.id = id_of_tasks(job);
}

// Beside the tasks of its array, a record without tasks is not a job of its own.
void drop_remainders(std::vector<Job>& jobs) {
  std::set<std::string> arrays;
  for (const Job& job : jobs) {
    if (!job.task.empty()) arrays.insert(job.array);
  }
  std::erase_if(
      jobs, [&](const Job& job) { return is_without_tasks(job) && arrays.contains(job.array); });
}

// Seen with 22.05: the job's end if slurmstepd cannot open the output file of the batch script.
constexpr int signal_without_output = 53;

// Slurm dates the start of a job that ended while it waited by its end, or by 1970.
void normalise_end(Job& job) {
  if (job.node_list.empty()) {
    const JobEnd end = end_of_unstarted(job.state, job.reason);
    if (end != JobEnd::other) job.end = end;
    if (has_ended(job.state)) {
      job.started.reset();
      job.used.reset();
    }
  }
  drop_throttle(job);
  if (job.state == JobState::failed && job.signal == signal_without_output) {
    job.cause =
        "often Slurm could not open the job's output file, because its folder is missing on the "
        "job's first node";
  }
  if (has_ended(job.state) && job.end != JobEnd::refused) return;
  job.exit_code.reset();
  job.signal.reset();
}

template <std::size_t n>
std::optional<Job> job_of(const std::array<Column, n>& columns, std::string_view record,
                          std::string_view source) {
  // Another program may have printed a line before the id.
  if (const std::size_t line = record.find_first_not_of("\r\n"); line != std::string_view::npos) {
    record.remove_prefix(line);
  }
  Job job;
  job.source = std::string(source);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::size_t end = record.find(field_end);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view value = record.substr(0, end);
    if (i == 0) value = value.substr(value.rfind('\n') + 1);
    columns[i].read(trim(value), job);
    record.remove_prefix(end + field_end.size());
  }
  columns[n - 1].read(record, job);
  if (job.id.empty() || job.id[0] < '0' || job.id[0] > '9') return std::nullopt;
  split_id(job);
  normalise_end(job);
  return job;
}

template <std::size_t n>
std::string joined(const std::array<Column, n>& columns, std::string_view separator) {
  std::string out;
  for (const Column& column : columns) {
    if (!out.empty()) out += separator;
    out += column.format;
  }
  return out;
}

// "alice(1000)".
void read_owner(std::string_view text, Job& job) {
  const std::size_t bracket = text.rfind('(');
  job.user = std::string(text.substr(0, bracket));
  if (bracket == std::string_view::npos || !text.ends_with(')')) return;
  read_uid(text.substr(bracket + 1, text.size() - bracket - 2), job);
}

void read_ids(const Record& record, Job& job) {
  job.number = std::string(record.get("JobId"));
  job.array = std::string(record.get("ArrayJobId"));
  job.task = std::string(record.get("ArrayTaskId"));
  if (job.array.empty() || job.task.empty()) {
    job.array.clear();
    job.task.clear();
    const std::string_view leader = record.get("HetJobId");
    const std::string_view component = record.get("HetJobOffset");
    job.id =
        leader.empty() || component.empty() ? job.number : fmt::format("{}+{}", leader, component);
  } else {
    job.id = id_of_tasks(job);
    drop_no_task(job);
  }
}

// For waiting tasks of an array, Slurm expands %a to NO_VAL.
std::string own_file(std::string_view reported, const Job& job) {
  std::string out(reported);
  if (!has_several_tasks(job)) return out;
  for (std::size_t at = out.rfind(no_task); at != std::string::npos; at = out.rfind(no_task, at)) {
    out.replace(at, no_task.size(), "%a");
  }
  return out;
}

Job job_of(const Record& record) {
  Job job;
  job.source = "scontrol";
  read_ids(record, job);
  job.name = std::string(record.get("JobName"));
  read_owner(record.get("UserId"), job);
  job.partition = std::string(record.get("Partition"));
  read_state(record.get("JobState"), job);
  job.reason = std::string(record.get("Reason"));
  job.used = duration(record.get("RunTime"));
  read_limit(record.get("TimeLimit"), job);
  read_nodes(record.get("NumNodes"), job);
  read_node_list(record.get("NodeList"), job);
  job.het_leader = std::string(record.get("HetJobId"));
  job.batch_host = std::string(record.get("BatchHost"));
  job.submitted = moment(record.get("SubmitTime"));
  job.started = moment(record.get("StartTime"));
  job.ended = moment(record.get("EndTime"));
  read_not_before(record.get("EligibleTime"), job);
  job.dependency = std::string(record.get("Dependency"));
  job.priority = parse_int(record.get("Priority"));
  read_exit_code(record.get("ExitCode"), job);
  job.restarts = restarts_of(record.get("Restarts"));
  // After the fields that users can fill with any text.
  job.command = std::string(record.last("Command"));
  job.folder = std::string(record.last("WorkDir"));
  job.out = own_file(record.last("StdOut"), job);
  job.err = own_file(record.last("StdErr"), job);
  normalise_end(job);
  return job;
}

bool is_one_task(std::string_view text) {
  return parse_int(text).has_value();
}

// "0-2", "5", "7-9": numbers that follow each other are one range; of those that wait Slurm's own.
std::vector<std::string> tasks_of(const std::vector<Job>& records) {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> out, waiting;
  for (const Job& job : records) {
    if (job.task.empty()) continue;
    if (const auto number = parse_int(job.task)) {
      numbers.push_back(*number);
    } else {
      waiting.push_back(printable(std::string_view(job.task).substr(0, job.task.find('%'))));
    }
  }
  std::ranges::sort(numbers);
  for (std::size_t i = 0, first = 0; i < numbers.size(); ++i) {
    if (i + 1 < numbers.size() && numbers[i + 1] <= numbers[i] + 1) continue;
    out.push_back(first == i ? fmt::to_string(numbers[i])
                             : fmt::format("{}-{}", numbers[first], numbers[i]));
    first = i + 1;
  }
  std::ranges::move(waiting, std::back_inserter(out));
  return out;
}

}  // namespace

std::string squeue_format() {
  return joined(squeue_columns, field_end) + std::string(record_end);
}

std::vector<Job> parse_squeue(std::string_view text) {
  std::vector<Job> jobs;
  for (const std::string_view record : pieces(text, record_end)) {
    if (auto job = job_of(squeue_columns, record, "squeue")) jobs.push_back(std::move(*job));
  }
  drop_remainders(jobs);
  return jobs;
}

std::vector<std::string> squeue_delay_options() {
  return {"-O", fmt::format("JobArrayID:{},RestartCnt:{},EligibleTime:{}", id_width, count_width,
                            time_width)};
}

void add_delays(std::string_view text, std::vector<Job>& jobs) {
  for (const std::string_view line : pieces(text, "\n")) {
    const auto parts = words(line);
    if (parts.size() != 3) continue;
    const auto job = std::ranges::find(jobs, parts[0], &Job::id);
    if (job == jobs.end()) continue;
    job->restarts = restarts_of(parts[1]);
    read_not_before(parts[2], *job);
  }
}

std::vector<Job> parse_show_job(std::string_view text) {
  std::vector<Job> jobs;
  for (const std::string_view line : record_lines(text, "JobId")) {
    jobs.push_back(job_of(Record(line)));
  }
  drop_remainders(jobs);
  return jobs;
}

bool says_not_found(std::string_view out) {
  const std::string_view line = trim(out);
  return line.starts_with("Job ") && line.ends_with(" not found") && !line.contains('\n');
}

std::string missing_part(const JobId& id, const std::vector<Job>& records) {
  if (records.empty()) return {};
  if (id.task.empty()) {
    if (id.text == id.number) return {};
    return fmt::format("Slurm knows job {}, but this job has no component {}", id.number,
                       id.text.substr(id.number.size() + 1));
  }
  const Job& first = records.front();
  if (!first.array.empty() && first.array != id.number) {
    return fmt::format("{} is Slurm's number of task {} of array {}: write {}", id.number,
                       first.task, first.array, first.id);
  }
  const std::vector<std::string> tasks = tasks_of(records);
  if (tasks.empty()) {
    return std::ranges::any_of(records, is_without_tasks)
               ? fmt::format("Slurm has forgotten the tasks of job {}", id.number)
               : fmt::format("job {} is not an array, and has no tasks", id.number);
  }
  return fmt::format("Slurm knows task{} {} of job {}, but the job has no task {}",
                     tasks.size() == 1 && is_one_task(tasks.front()) ? "" : "s", join(tasks, ","),
                     id.number, id.task);
}

std::vector<std::string> sacct_options(const std::vector<std::string>& which) {
  std::vector<std::string> options = {
      "-n", "-P", "-X", "--delimiter=" + std::string(field_end), "-o", joined(sacct_columns, ",")};
  options.insert(options.end(), which.begin(), which.end());
  return options;
}

std::vector<Job> parse_sacct(std::string_view text) {
  std::vector<Job> jobs;
  for (const std::string_view line : pieces(text, "\n")) {
    if (auto job = job_of(sacct_columns, line, "sacct")) jobs.push_back(std::move(*job));
  }
  drop_remainders(jobs);
  return jobs;
}

std::string config_value(std::string_view text, std::string_view key) {
  for (const std::string_view line : pieces(text, "\n")) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != key) continue;
    return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

}  // namespace toprun::engines::slurm
