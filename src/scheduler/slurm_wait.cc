#include "scheduler/slurm_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/process.h"
#include "base/text.h"
#include "scheduler/slurm_facts.h"

namespace toprun::scheduler {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{1'000};
constexpr milliseconds longest_pause{30'000};
constexpr int most_silences = 10;  // of slurmctld, in a row

// The states in which a job begins or goes on (squeue(1), JOB STATE CODES).
constexpr std::array<std::string_view, 12> living_states = {
    "PENDING",      "RUNNING",     "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING",   "SIGNALING",   "STAGE_OUT", "STOPPED"};

std::string_view field(std::string_view line, std::string_view key) {
  for (const std::string_view word : words(line)) {
    if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
      return word.substr(key.size() + 1);
    }
  }
  return {};
}

// ExitCode is CODE:SIGNAL.
int code_of(std::string_view state, std::string_view exit_code) {
  const std::size_t colon = exit_code.find(':');
  const auto code = parse_int(exit_code.substr(0, colon)).value_or(0);
  if (code > 0) return static_cast<int>(std::min<std::int64_t>(code, 255));
  return state == "COMPLETED" ? 0 : 1;
}

void take(JobEnds& ends, std::string_view id, std::string_view state, std::string_view exit_code) {
  state = state.substr(0, state.find_first_of(" +"));  // "CANCELLED by 1000"
  if (std::ranges::find(living_states, state) != living_states.end()) {
    ends.all_ended = false;
    return;
  }
  ends.codes[std::string(id)] = code_of(state, exit_code);
}

// How long slurmctld remembers a job that has ended.
milliseconds memory_of(const Environment& environment) {
  const auto config = output_of({"scontrol", "show", "config"}, environment, slurm_answer_limit);
  for (const std::string_view line : split(config.value_or(""), '\n')) {
    if (!line.starts_with("MinJobAge")) continue;
    const std::vector<std::string_view> value = words(line.substr(line.find('=') + 1));
    if (value.empty()) break;
    if (const auto seconds = parse_int(value.front()); seconds && *seconds > 0) {
      return std::min(longest_pause * 2, milliseconds(*seconds * 1000));
    }
  }
  return longest_pause * 2;
}

int highest(const JobEnds& ends) {
  int code = 0;
  for (const auto& [id, each] : ends.codes) code = std::max(code, each);
  return code;
}

// The end of a job that slurmctld knows no more.
Result<int> accounted(const std::string& id, const JobEnds& seen, const Environment& environment) {
  if (!seen.codes.empty()) return highest(seen);
  const auto records = output_of({"sacct", "--noheader", "--parsable2", "--allocations", "-j", id,
                                  "-o", "JobIDRaw,State,ExitCode"},
                                 environment, slurm_answer_limit);
  const JobEnds ends = accounted_ends_in(records.value_or(""));
  if (!ends.codes.empty()) return highest(ends);
  return fail("how job " + id + " ended is not known", "Slurm has forgotten it", "see its files");
}

}  // namespace

JobEnds job_ends_in(std::string_view records) {
  JobEnds ends;
  for (const std::string_view line : split(records, '\n')) {
    const std::string_view id = field(line, "JobId");
    if (!id.empty()) take(ends, id, field(line, "JobState"), field(line, "ExitCode"));
  }
  return ends;
}

JobEnds accounted_ends_in(std::string_view records) {
  JobEnds ends;
  for (const std::string_view line : split(records, '\n')) {
    const std::vector<std::string_view> fields = split(trim(line), '|');
    if (fields.size() == 3) take(ends, fields[0], fields[1], fields[2]);
  }
  return ends;
}

Result<int> wait_for_slurm_job(const std::string& id, const Environment& environment) {
  const milliseconds most = std::min(longest_pause, memory_of(environment) / 2);
  JobEnds seen;
  int silences = 0;
  for (milliseconds pause = std::min(first_pause, most);; pause = std::min(pause * 2, most)) {
    std::this_thread::sleep_for(pause);
    const auto answer =
        finish({"scontrol", "show", "job", "-o", id}, environment, slurm_answer_limit);
    if (!answer || (answer->code != 0 && answer->err.find("Invalid job id") == std::string::npos)) {
      if (++silences < most_silences) continue;
      return fail("cannot learn how job " + id + " is", "scontrol does not answer",
                  "toprun status " + id);
    }
    silences = 0;
    const JobEnds now = job_ends_in(answer->out);
    for (const auto& [task, code] : now.codes) seen.codes[task] = code;
    if (answer->code != 0 || (now.all_ended && now.codes.empty())) {
      return accounted(id, seen, environment);
    }
    if (now.all_ended) return highest(seen);
  }
}

}  // namespace toprun::scheduler
