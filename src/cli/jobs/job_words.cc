#include "cli/jobs/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/signals.h"
#include "base/text/text.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_report.h"
#include "cli/jobs/job_summary.h"
#include "engines/slurm/script.h"
#include "node/plan/setup/setup_record.h"
#include "observe/report/columns.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::JobState;
using engines::Queue;
using nlohmann::json;

constexpr std::size_t widest_name = 32;
constexpr std::size_t widest_reason = 40;
constexpr std::size_t most_metrics_shown = 8;
constexpr std::size_t column_gap = 2;
constexpr std::size_t least_status = 24;  // columns

std::string shortened(const std::string& words, std::size_t widest) {
  const std::string text = printable(words);
  if (text.size() <= widest) return text;
  std::size_t end = widest - 1;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// Of a reason that is several facts in one word, the first: the words beside it say all of it.
std::string reason_word(const Job& job) {
  const std::size_t end = job.reason.find(',');
  const bool is_list = job.reason.size() > widest_reason && end < widest_reason;
  return printable(is_list ? job.reason.substr(0, end) : job.reason);
}

// The last column of Slurm's table: the nodes, or the reason why there are none. Of one that is a
// sentence its beginning: all of it stands below the table.
std::string nodes_or_reason(const Job& job) {
  if (!job.node_list.empty()) return printable(job.node_list);
  if (job.reason.empty()) return "-";
  return fmt::format("({})", shortened(reason_word(job), widest_reason));
}

std::vector<std::string> waiting_reasons(const Queue& queue, const std::vector<Job>& jobs) {
  std::vector<std::string> reasons;
  for (const Job& job : jobs) {
    if (job.state != JobState::pending || job.reason.empty()) continue;
    std::string text = reason_text(queue, job);
    if (std::ranges::find(reasons, text) == reasons.end()) reasons.push_back(std::move(text));
  }
  return reasons;
}

json progress_json(const std::optional<engines::Progress>& progress) {
  if (!progress) return nullptr;
  json metrics = json::object();
  for (const auto& [name, value] : progress->metrics) metrics[name] = value;
  return {{"percent", or_null(progress->percent)},
          {"remaining_s", or_null(progress->remaining)},
          {"metrics", std::move(metrics)},
          {"told", or_null(progress->reported)}};
}

std::string why_not_built(const std::string& job, const Setups& setups) {
  const auto built = setups.find(job);
  if (built == setups.end()) return {};
  const auto record = setup::read_record(built->second);
  return record && *record ? (*record)->why : std::string();
}

std::string words_of_predecessor(const Queue& queue, const std::string& text,
                                 const Setups& setups) {
  const auto id = engines::parse_job_id(text);
  const auto jobs = id ? queue.find(*id) : Result<std::vector<Job>>();
  std::string words = "did not end as required";
  if (jobs && jobs->empty()) {
    for (const KnownJob& known : forgotten_jobs(queue, text)) {
      const JobSummary what = summary_of(known);
      if (what.exit_code.value_or(0) != 0) words = what.words;
    }
  }
  for (const Job& job : jobs.value_or(std::vector<Job>())) {
    if (exit_code_of(job).value_or(0) != 0) words = ending_of(queue, job, setups).words;
  }
  const std::string why = printable(why_not_built(text, setups));
  const bool is_said = why.empty() || words.contains(why);
  return fmt::format("job {} {}{}{}", printable(text), words, is_said ? "" : ": ",
                     is_said ? "" : why);
}

// "…, 10, 11, 12", the latest of the jobs whose folders are in this folder.
std::string jobs_text(const std::string& folder) {
  constexpr std::size_t most_named = 8;
  std::vector<std::string> ids;
  for (const FoundFiles& found : files_beside(folder + "/any", {})) {
    if (is_there(found.files.folder)) ids.push_back(printable(found.id));
  }
  const bool is_long = ids.size() > most_named;
  if (is_long) ids.erase(ids.begin(), ids.end() - most_named);  // the latest
  return (is_long ? "…, " : "") + join(ids, ", ");
}

Error not_of_a_job(const std::string& word, bool is_folder, const std::string& jobs) {
  return {printable(word),
          fmt::format("it is a {}, and not the folder or the report of a job",
                      is_folder ? "folder" : "file"),
          jobs.empty()
              ? "give the job's id, as toprun jobs shows it, or its folder, as in logs/17"
              : fmt::format("give the id or the folder of one of the jobs in it: {}", jobs),
          exit_usage};
}

// A job's folder under another name. Users also call their own scripts job.sbatch.
std::optional<Error> renamed_folder(const std::string& word) {
  constexpr std::size_t most_bytes = 256;  // of the script's begin
  std::ifstream script(word + "/job.sbatch", std::ios::binary);
  std::string begin(most_bytes, '\0');
  script.read(begin.data(), most_bytes);
  begin.resize(static_cast<std::size_t>(script.gcount()));
  if (!engines::is_written_by_toprun(begin)) return std::nullopt;
  std::error_code error;
  const bool is_link = std::filesystem::is_symlink(word, error);
  return Error{printable(word), "it is a job's folder, but its name is not the job's id",
               is_link ? "write ./" + printable(word) : "rename it to the id, as in logs/17",
               exit_usage};
}

// The error for a word that no engine knows, and that is the name of a folder with jobs' folders
// or of a copied job's folder.
std::optional<Error> folder_of_jobs(const std::string& word) {
  if (auto renamed = renamed_folder(word)) return renamed;
  const std::string jobs = jobs_text(word);
  return jobs.empty() ? std::nullopt : std::optional(not_of_a_job(word, true, jobs));
}

// An id, or the name of a job; a folder may have the same name.
Result<engines::JobId> id_by_form(const std::string& word) {
  auto id = engines::parse_job_id(word);
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(word, error);
  const bool is_path =
      is_folder || word.contains('/') || word.ends_with(".json") || word.ends_with(".out");
  if (!is_path || (id && !id->number.empty())) return id;
  const std::string what = printable(word);
  if (!is_there(word)) {
    return usage(what, "there is no such file", "give the job's id, as toprun jobs shows it");
  }
  if (!is_folder && read_report(word).value_or(std::nullopt)) {
    return usage(what, "it is the report of a run, but not in the folder of a submitted job",
                 "use it with toprun status, top or report; a run that was not submitted prints "
                 "its output on its own terminal");
  }
  if (id) return id;
  auto folder = is_folder ? folder_of_jobs(word) : std::nullopt;
  return std::unexpected(folder ? *std::move(folder) : not_of_a_job(word, is_folder, {}));
}

}  // namespace

std::string name_of(JobState state) {
  switch (state) {
    case JobState::pending:
      return "pending";
    case JobState::starting:
      return "starting";
    case JobState::running:
      return "running";
    case JobState::suspended:
      return "suspended";
    case JobState::completing:
      return "completing";
    case JobState::completed:
      return "completed";
    case JobState::failed:
      return "failed";
    case JobState::cancelled:
      return "cancelled";
    case JobState::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string clock_text(std::chrono::seconds time) {
  const auto total = time.count();
  const auto days = total / 86'400;
  const auto hours = total / 3'600 % 24;
  const auto minutes = total / 60 % 60;
  const auto seconds = total % 60;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, seconds);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, seconds);
  return fmt::format("{}:{:02}", minutes, seconds);
}

std::string reason_text(const Queue& queue, const Job& job) {
  const std::string words = queue.reason_words(job);
  return words.empty() ? printable(job.reason) : fmt::format("{}: {}", reason_word(job), words);
}

std::string id_word(const std::string& id) {
  return shell_quote(std::span(&id, 1));
}

std::string id_word(const Job& job) {
  return id_word(has_several_tasks(job) ? job.array : job.id);
}

Colour colour_of(JobState state) {
  switch (state) {
    case JobState::running:
    case JobState::completing:
    case JobState::completed:
      return Colour::good;
    case JobState::pending:
    case JobState::starting:
    case JobState::suspended:
    case JobState::unknown:
      return Colour::waiting;
    case JobState::failed:
    case JobState::cancelled:
      return Colour::bad;
  }
  return Colour::waiting;
}

std::string end_text(const Queue& queue, const Job& job, ExitCode shown) {
  if (job.end == engines::JobEnd::refused) {
    return fmt::format("not started: {} refused it: {}", queue.engine_in_words(),
                       queue.reason_words(job));
  }
  std::string words = queue.state_words(job.state_word);
  if (words.empty()) words = printable(job.state_word);
  if (shown == ExitCode::shown && job.exit_code.value_or(0) != 0) {
    words += fmt::format(", exit code {}", *job.exit_code);
  }
  if (job.signal) {
    const std::string name = signal_name(*job.signal);  // "signal 53" if it has none
    words += fmt::format(", {}{}", name.starts_with("SIG") ? "signal " : "", name);
  }
  return job.cause.empty() ? words : fmt::format("{}: {}", words, printable(job.cause));
}

std::string progress_text(const engines::Progress& progress) {
  std::vector<std::string> parts;
  if (progress.percent) parts.push_back(fmt::format("{} % done", *progress.percent));
  if (progress.remaining) parts.push_back(clock_text(*progress.remaining) + " left");
  for (std::size_t i = 0; i < std::min(progress.metrics.size(), most_metrics_shown); ++i) {
    const auto& [name, value] = progress.metrics[i];
    parts.push_back(printable(name + " " + value));
  }
  if (parts.empty()) return {};
  return join(parts, ", ") +
         (progress.reported ? "; reported at " + time_text(*progress.reported) : "");
}

Result<engines::JobId> job_id_in(const std::string& word, const Environment& environment) {
  auto id = id_by_form(word);
  if (!id || !id->number.empty()) return id;
  auto folder = folder_of_jobs(word);
  if (!folder) return id;
  const auto queue = engines::find_queue_of(*id, environment);
  if (!queue) return std::unexpected(*std::move(folder));
  const auto jobs = (*queue)->find(*id);
  const bool may_exist = jobs ? !jobs->empty() : jobs.error()->kind != ErrorKind::out_of_reach;
  return may_exist ? id : std::unexpected(*std::move(folder));
}

Result<std::unique_ptr<Queue>> queue_of(const std::string& id, const Environment& environment) {
  const auto parsed = TRY(job_id_in(id, environment));
  return engines::find_queue_of(parsed, environment);
}

Result<std::vector<Job>> jobs_of(const Queue& queue, const std::string& text,
                                 const std::string& record) {
  auto id = TRY(id_by_form(text));
  id.record = record;
  auto jobs = queue.find(id);
  if (jobs) leave_only(id, *jobs);
  if (!jobs || !jobs->empty()) return jobs;
  auto folder = id.number.empty() ? folder_of_jobs(text) : std::nullopt;
  if (folder) return std::unexpected(*std::move(folder));
  return fail(fmt::format("job {} is unknown", id.text), queue.forgets(id), lists_of_jobs);
}

std::string jobs_table(const Queue& queue, const std::vector<Job>& jobs,
                       const std::vector<std::string>& status, const Style& style) {
  std::vector<std::vector<std::string>> rows = {
      {"JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"}};
  for (const Job& job : jobs) {
    rows.push_back({printable(job.id), printable(job.partition), shortened(job.name, widest_name),
                    printable(job.user),
                    printable(job.state_code.empty() ? job.state_word : job.state_code),
                    clock_text(job.used.value_or(std::chrono::seconds(0))),
                    job.nodes > 0 ? fmt::to_string(job.nodes) : "-", nodes_or_reason(job)});
  }
  const std::string narrow = report::columns_text(rows, {0, 5, 6});
  std::size_t taken = 0;
  for (const std::string_view line : split(narrow, '\n')) {
    taken = std::max(taken, columns_of(line) + column_gap);
  }
  // A narrow terminal breaks the lines.
  const std::size_t room =
      style.columns == 0 ? 0
                         : std::max(style.columns - std::min(style.columns, taken), least_status);
  if (!std::ranges::all_of(status, &std::string::empty)) {
    rows[0].emplace_back("STATUS");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      rows[i + 1].push_back(status[i].empty() ? "-" : both_ends(status[i], room));
    }
  }
  const std::string table = report::columns_text(rows, {0, 5, 6});
  const auto lines = split(table, '\n');
  std::string text = fmt::format("{}\n", lines[0]);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    text += coloured(lines[i + 1], colour_of(jobs[i].state), style) + '\n';
  }
  const auto reasons = waiting_reasons(queue, jobs);
  if (!reasons.empty()) text += '\n';
  for (const std::string& reason : reasons) text += reason + '\n';
  return text;
}

json job_json(const Queue& queue, const Job& job) {
  const bool waits = job.state == JobState::pending;
  return {{"id", job.id},
          {"number", job.number},
          {"array", or_null(job.array)},
          {"task", or_null(job.task)},
          {"name", job.name},
          {"partition", or_null(job.partition)},
          {"user", or_null(job.user)},
          {"state", name_of(job.state)},
          {"engine_state", or_null(job.state_word)},
          {"state_words", or_null(queue.state_words(job.state_word))},
          {"reason", or_null(job.reason)},
          {"reason_words", or_null(queue.reason_words(job))},
          {"used_s", or_null(job.used)},
          {"limit_s", or_null(job.limit)},
          {"nodes", job.nodes},
          {"node_list", or_null(job.node_list)},
          {"dependency", or_null(job.dependency)},
          {"priority", or_null(job.priority)},
          {"submitted", or_null(job.submitted)},
          {"started", waits ? json(nullptr) : or_null(job.started)},
          {"expected_start", waits ? or_null(job.started) : json(nullptr)},
          {"ended", has_ended(job.state) ? or_null(job.ended) : json(nullptr)},
          {"exit_code", or_null(exit_code_of(job))},
          {"restarts", job.restarts},
          {"progress", progress_json(job.progress)},
          {"folder", or_null(job.folder)}};
}

std::vector<std::string> failed_predecessors(const Queue& queue, const Job& job,
                                             const Setups& setups) {
  std::vector<std::string> whys;
  for (const std::string& id : failed_dependencies(job.dependency)) {
    whys.push_back(words_of_predecessor(queue, id, setups));
  }
  if (whys.empty()) whys.emplace_back("a job on which it depends did not end as required");
  return whys;
}

std::vector<std::string> failed_dependencies(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string_view item : split(text, text.contains('?') ? '?' : ',')) {
    const std::size_t colon = item.find(':');
    const std::size_t mark = item.find("(failed)");
    if (colon == std::string_view::npos || mark == std::string_view::npos || mark < colon) continue;
    // "12_*" is every task of an array.
    const std::string_view id = item.substr(colon + 1, mark - colon - 1);
    ids.emplace_back(id.ends_with("_*") ? id.substr(0, id.size() - 2) : id);
  }
  return ids;
}

JobEnding ending_of(const Queue& queue, const Job& job, const Setups& setups) {
  KnownJob known = known_job(queue, job, setups);
  if (has_ended(job.state)) {
    return {exit_code_of(job).value_or(exit_failure), summary_of(known).words};
  }
  known.job.reset();
  return ending_by_files(queue, known);
}

JobEnding ending_by_files(const Queue& queue, const KnownJob& known) {
  const JobSummary what = summary_of(known);
  return {
      what.exit_code.value_or(exit_failure),
      fmt::format("{} (from its files; {} has forgotten it)", what.words, queue.engine_in_words())};
}

std::string end_line(const std::string& id, const JobEnding& ending, const Style& style) {
  const std::string text = "toprun: " + printable(fmt::format("job {}: {}", id, ending.words));
  return coloured(text, ending.exit_code == 0 ? Colour::good : Colour::bad, style) + '\n';
}

}  // namespace toprun::jobs
