#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <ranges>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/address.h"
#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/signals.h"
#include "base/os/style.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/jobs/live_status.h"
#include "cli/jobs/waiting.h"
#include "cli/pods/kept_runs.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/jobs/top_feed.h"
#include "cli/verbs/run_verbs.h"
#include "observe/report/columns.h"
#include "observe/report/report.h"
#include "observe/web/address_file.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

using engines::Job;
using engines::JobState;
using engines::Queue;
using nlohmann::json;

constexpr std::size_t label_width = 11;
constexpr std::size_t most_nodes_shown = 32;
constexpr std::size_t most_task_blocks = 8;
constexpr std::size_t most_task_rows = 100;

std::string row(std::string_view label, std::string_view text) {
  if (text.empty()) return {};
  return fmt::format("  {:<{}}{}\n", label, label_width, text);
}

std::string headline(const Job& job) {
  std::string text = "job " + printable(job.id);
  if (job.name != job.id) text += fmt::format(" ({})", printable(job.name));
  if (!job.user.empty()) text += " of " + printable(job.user);
  if (!job.partition.empty()) text += fmt::format(", partition {}", printable(job.partition));
  return text + '\n';
}

// Its state, in the engine's word and ours.
std::string state_of(const Job& job, const jobs::JobSummary& what) {
  const std::string word = printable(job.state_word);
  if (!what.words.starts_with(lower(word))) return fmt::format("{}: {}", word, what.words);
  return word + what.words.substr(word.size());
}

// Of a job that its files alone tell of.
std::string times_by_files(const jobs::KnownJob& known, const jobs::JobSummary& what) {
  std::vector<std::string> parts;
  if (const auto& act = known.story.submitted) {
    parts.push_back(fmt::format("submitted {} by {}", time_text(act->at), act->by));
  }
  if (what.started) parts.push_back("started " + time_text(*what.started));
  if (what.ended) parts.push_back("ended " + time_text(*what.ended));
  if (what.started && what.ended && *what.ended >= *what.started) {
    using std::chrono::seconds;  // the difference of the times as they are shown
    parts.push_back("ran " + jobs::clock_text(std::chrono::floor<seconds>(*what.ended) -
                                              std::chrono::floor<seconds>(*what.started)));
  }
  return join(parts, ", ");
}

// The script of an array is in the array's own folder.
std::string directory_by_files(const jobs::KnownJob& known) {
  if (!known.files) return {};
  const std::string own = jobs::directory_in(known.files->folder);
  const std::size_t task = known.id.find('_');
  if (!own.empty() || task == std::string::npos) return printable(own);
  const auto beside = std::filesystem::path(known.files->folder).parent_path();
  return printable(jobs::directory_in((beside / known.id.substr(0, task)).string()));
}

// The nodes of the run's last attempt.
std::string nodes_by_files(const jobs::KnownJob& known) {
  if (!known.report || known.report->run.attempts.empty()) return {};
  std::vector<std::string> names;
  for (const model::NodeRecord& node : known.report->run.attempts.back().nodes) {
    names.push_back(node.name.shown());
  }
  return names.empty() ? std::string()
                       : fmt::format("{}: {}", names.size(), hosts::short_list(names));
}

// The runs of the job before it was put back into the queue.
std::string earlier_rows(const model::RunRecord& record) {
  std::string out;
  for (const model::EarlierRun& run : record.earlier) {
    std::string text = jobs::span_text(run.started, run.ended);
    if (run.exit_code) text += fmt::format(", exit code {}", *run.exit_code);
    if (run.cause) text += ": " + model::short_text(*run.cause);
    out += row(out.empty() ? "ran before" : "", text);
  }
  return out;
}

std::string limit_text(const Job& job) {
  if (!job.limit) return job.limit_of_partition ? "its partition's time limit" : "no time limit";
  std::string text = "limit " + jobs::clock_text(*job.limit);
  if (job.state == JobState::running && job.used && *job.used < *job.limit) {
    text += fmt::format(", {} left", jobs::clock_text(*job.limit - *job.used));
  }
  return text;
}

std::string waiting_rows(const Queue& queue, const Job& job) {
  if (job.state != JobState::pending) return {};
  const jobs::Waiting what = jobs::waiting(queue, job);
  std::string out;
  const std::string_view label = what.can_never_start ? "why" : "waits for";
  for (const std::string& reason : what.reasons) out += row(out.empty() ? label : "", reason);
  return out + row("start", jobs::start_text(what, job, std::chrono::system_clock::now(),
                                             jobs::Labelled::yes));
}

// Slurm dates the submission of a job that it has put back into the queue by that.
std::string times_text(const Job& job, const std::optional<jobs::JobStory::Act>& submission) {
  std::vector<std::string> parts;
  const bool waits = job.state == JobState::pending;
  const bool is_back = job.restarts > 0;
  const auto submitted = submission ? std::optional(submission->at) : job.submitted;
  if (submitted && (submission || !is_back)) {
    parts.push_back("submitted " + time_text(*submitted));
  }
  if (job.started && !waits) parts.push_back("started " + time_text(*job.started));
  if (job.ended && has_ended(job.state)) parts.push_back("ended " + time_text(*job.ended));
  if (job.used && !waits) parts.push_back("ran " + jobs::clock_text(*job.used));
  if (!has_ended(job.state)) parts.push_back(limit_text(job));
  if (is_back) {
    const std::string last = job.submitted ? ", last " + time_text(*job.submitted) : "";
    parts.push_back("put back into the queue " + counted(job.restarts, "time") + last);
  }
  return join(parts, ", ");
}

std::string ranks_text(const model::NodeRecord& node) {
  if (node.nproc == 0) return "no rank";
  if (node.nproc == 1) return fmt::format("rank {}", node.first_rank);
  return fmt::format("ranks {}-{}", node.first_rank, node.first_rank + node.nproc - 1);
}

std::string nodes_rows(const model::AttemptRecord& attempt) {
  std::vector<std::vector<std::string>> rows;
  for (const model::NodeRecord& node : attempt.nodes) {
    if (rows.size() == most_nodes_shown) {
      rows.push_back({fmt::format("… and {} more (--json)", attempt.nodes.size() - rows.size())});
      break;
    }
    rows.push_back({node.name.shown(), ranks_text(node), node.location.shown()});
  }
  const std::string table = report::columns_text(rows, {});
  std::string out;
  std::string_view label = "ranks";
  for (const std::string_view line : split(table, '\n')) {
    if (!line.empty()) out += row(std::exchange(label, ""), line);
  }
  return out;
}

// "interrupted by SIGTERM at …, …": the run has not told of its end.
std::string interrupted_text(const model::Interruption& interrupted, bool job_has_ended) {
  return fmt::format("interrupted by {} at {}, and its ranks {} {} to end{}",
                     signal_name(interrupted.signal), time_text(interrupted.at),
                     job_has_ended ? "were to have" : "have", duration_text(interrupted.grace),
                     job_has_ended
                         ? "; toprun itself was gone before it could write how they "
                           "ended: the engine's own limit (Slurm's KillWait) may be shorter"
                         : "");
}

// The state from the run's own report, and its reliability.
std::string run_text(const model::RunRecord& run, bool job_has_ended) {
  const model::AttemptRecord& last = run.attempts.back();
  std::size_t ranks = 0;
  for (const model::NodeRecord& node : last.nodes) {
    ranks += static_cast<std::size_t>(node.nproc);
  }
  std::string text = fmt::format("attempt {}: ", last.attempt);
  if (const auto code = model::reported_code(run)) {
    text += fmt::format("ended with exit code {}", *code);
  } else if (last.interrupted && !last.ended) {
    text += interrupted_text(*last.interrupted, job_has_ended);
  } else if (job_has_ended) {
    const auto updated = model::if_known(model::updated_at(run));
    text += fmt::format("was {} when last reported{}", jobs::phase_words(last),
                        updated ? " at " + time_text(*updated) : "");
  } else {
    text += last.ended ? "this attempt is over, and another one follows" : jobs::phase_words(last);
  }
  return last.nodes.empty() ? text
                            : fmt::format("{}; {} on {}", text, counted(ranks, "rank"),
                                          counted(last.nodes.size(), "node"));
}

// "2 of 3 to 4 nodes: n[0-1]" and "1 more of n[2-3], until …".
std::string gathering_rows(const model::Gathering& gathering) {
  const std::size_t here = gathering.here.size();
  std::vector<std::string> names;
  for (const Outside& name : gathering.here) names.push_back(name.shown());
  const bool is_fixed = gathering.least == gathering.most;
  const std::string size = is_fixed ? fmt::to_string(gathering.most)
                                    : fmt::format("{} to {}", gathering.least, gathering.most);
  std::string awaited;
  if (here < gathering.least) awaited = fmt::format("{} more", gathering.least - here);
  if (gathering.begins_at) awaited = fmt::format("up to {} more", gathering.most - here);
  if (!gathering.missing.empty()) awaited += " of " + hosts::short_list(gathering.missing);
  awaited += gathering.begins_at
                 ? fmt::format(", until {}; then it begins without the others",
                               time_text(*gathering.begins_at))
                 : fmt::format(", until {}; then it ends", time_text(gathering.ends_at));
  return row("here", fmt::format("{} of {} nodes{}{}", here, size, names.empty() ? "" : ": ",
                                 hosts::short_list(names))) +
         row("waits for", awaited);
}

std::string phases_rows(const model::AttemptRecord& attempt) {
  std::string out = row("phases", jobs::times_text(attempt.phases));
  if (attempt.awaited) {
    out +=
        row(attempt.ended ? "came" : "waits for", printable(model::awaited_text(*attempt.awaited)));
  }
  std::string_view head = "slowest";
  for (const std::string& line : model::slowest_lines(attempt.spreads)) {
    out += row(std::exchange(head, ""), printable(line));
  }
  return out;
}

// `asked_as`: how `toprun stacks` asks the job; empty: it cannot be asked.
std::string hang_text(const model::Hang& hang, std::string_view asked_as) {
  std::string text = printable(hang.verdict.what);
  const auto noticed = model::if_known(hang.noticed);
  if (noticed) text += ", noticed at " + time_text(*noticed);
  if (hang.over) {
    text += fmt::format("; over since {}", time_text(*hang.over));
  } else if (!asked_as.empty()) {
    text += fmt::format("; toprun stacks {} shows the current stacks", asked_as);
  }
  return text;
}

std::string restarts_text(const model::RunRecord& run) {
  return run.max_restarts == 0 ? "" : fmt::format("{} of {}", run.restarts, run.max_restarts);
}

// The nodes that stand by, and those that did and are gone.
std::string spares_rows(const model::RunRecord& run, bool job_has_ended) {
  std::string out;
  if (!job_has_ended && run.running_at && !run.spares.empty()) {
    std::vector<std::string> names;
    for (const Outside& name : run.spares) names.push_back(name.shown());
    out += row(counted(names.size(), "spare"), fmt::format("{} {}", hosts::short_list(names),
                                                           names.size() == 1 ? "waits" : "wait"));
  }
  for (const model::LostNode& spare : run.lost_spares) {
    const auto known = model::if_known(spare.at);
    const std::string at = known ? " at " + time_text(*known) : "";
    const std::string why = spare.why.empty() ? "" : ": " + spare.why.shown();
    out += row("spare gone", fmt::format("{}{}{}", spare.node, at, why));
  }
  return out;
}

std::string lost_text(const model::LostNode& lost) {
  const auto at = model::if_known(lost.at);
  return fmt::format("{} was lost{}{}{}", lost.node, at ? " at " + time_text(*at) : "",
                     lost.why.empty() ? "" : ": ", lost.why);
}

// "ranks 1-3 failed too, with exit code 5: ValueError: …".
std::string failed_too_text(const model::FailedToo& some) {
  constexpr std::size_t most_ranges = 8;
  const bool is_one = some.ranks.size() == 1;
  const std::string who =
      fmt::format("{} {}", is_one ? "rank" : "ranks", ranges_text(some.ranks, most_ranges));
  if (some.stopped) {
    return fmt::format("{} {} stopped and printed {}", who, is_one ? "was" : "were", some.message);
  }
  std::string text = fmt::format("{} failed {}", who, some.lost_peer ? "as a consequence" : "too");
  if (some.exit_code) text += fmt::format(", exit code {}", *some.exit_code);
  if (some.signal) text += ", killed by " + signal_name(*some.signal);
  if (!some.message.empty()) text += fmt::format(": {}", some.message);
  return text;
}

// `above`: the hang that is already shown.
std::string cause_text(const model::AttemptRecord& attempt,
                       const std::optional<model::Hang>& above) {
  const bool is_shown = attempt.cause->kind == model::CauseKind::hang && attempt.hang && above &&
                        attempt.hang->verdict.what == above->verdict.what;
  return is_shown ? "the job hung, as above" : model::short_text(*attempt.cause);
}

// What the rank at fault printed last, if nothing else says why it ended itself.
std::string line_of_failed(const model::Cause& cause) {
  const bool is_known = !cause.message.empty() || cause.kind != model::CauseKind::exit;
  const auto lines = is_known ? std::vector<std::string>() : report::last_lines_of(cause);
  return lines.empty() ? std::string() : lines.back();
}

// `name`: for commands, quoted for a shell; empty: the job has none.
std::string run_rows(const model::RunRecord& run, bool job_has_ended, std::string_view name) {
  if (run.attempts.empty()) return {};
  const model::AttemptRecord& last = run.attempts.back();
  const bool runs = !job_has_ended && run.running_at;
  std::string out = row("run", run_text(run, job_has_ended));
  out += row("restarts", restarts_text(run));
  if (run.gathering && runs) out += gathering_rows(*run.gathering);
  out += phases_rows(last);
  if (last.hang) out += row("hang", hang_text(*last.hang, runs && !last.ended ? name : ""));
  if (last.hang && !last.hang->over) out += row("next", printable(last.hang->next));
  out += nodes_rows(last);
  out += spares_rows(run, job_has_ended);
  for (const model::AttemptRecord& attempt : run.attempts) {
    std::string label = fmt::format("attempt {}", attempt.attempt);
    if (attempt.cause) out += row(std::exchange(label, ""), cause_text(attempt, last.hang));
    if (attempt.cause && !runs) out += row("last line", line_of_failed(*attempt.cause));
    for (const model::FailedToo& some : attempt.failed_too) {
      if (!some.ranks.empty()) out += row(std::exchange(label, ""), failed_too_text(some));
    }
    for (const model::LostNode& lost : attempt.lost_nodes) {
      out += row(std::exchange(label, ""), lost_text(lost));
    }
  }
  return out;
}

// "n2 wrote last: …", for nodes that the root lost: they may have had a failed rank before.
std::string lost_nodes_rows(const model::RunRecord& run, const jobs::JobFiles& files) {
  constexpr std::size_t most_shown = 4;
  if (run.attempts.empty()) return {};
  const model::AttemptRecord& last = run.attempts.back();
  std::set<std::string> nodes;
  for (const model::LostNode& lost : last.lost_nodes) nodes.insert(lost.node.raw());
  if (last.cause && last.cause->kind == model::CauseKind::node_lost) {
    nodes.insert(last.cause->node.raw());
  }
  std::string out;
  for (const std::string& node : nodes | std::views::take(most_shown)) {
    const Outside line = jobs::own_line_of_node(files, node);
    if (line.empty()) continue;
    out += row(out.empty() ? "lost node" : "",
               fmt::format("{} wrote last: {}", printable(node), line));
  }
  return out;
}

// The failure report's advice, which has the same label there; empty: the run goes on, or there is
// none.
std::string advice_in(const model::RunRecord& run, bool job_has_ended) {
  if (run.attempts.empty() || !run.attempts.back().cause) return {};
  const bool runs = !job_has_ended && run.running_at;
  return runs ? std::string() : run.attempts.back().cause->next.shown();
}

std::string files_rows(const jobs::JobFiles& files, bool has_output) {
  std::error_code error;
  std::string out;
  for (const std::string& path : files.own) {
    if (has_output) out += row("output", printable(path));
  }
  if (std::filesystem::exists(files.folder, error)) out += row("files", printable(files.folder));
  return out;
}

// The page of --web, and how to reach it from the user's own machine.
std::string page_rows(const jobs::KnownJob& known) {
  const bool runs = known.job && known.job->state == JobState::running;
  const auto page = runs && known.files ? web::read_address(known.files->folder) : std::nullopt;
  if (!page) return {};
  std::string out = row("page", fmt::format("{} on {}", page->url, page->host));
  if (const auto port = web::port_on_loopback(*page)) {
    out += row("", fmt::format("from your own machine: ssh -N -L {0}:127.0.0.1:{0} -J {1} {2}, and "
                               "then open that address",
                               *port, hosts::host_name(), page->host));
  }
  return out;
}

// For a script that was not written by `toprun submit`: how it gets a report, which may be found
// only in the folder of the job's id beside the engine's output file.
std::string more_text(const jobs::KnownJob& known) {
  const bool is_own_script = known.job && known.job->state != JobState::pending && known.files &&
                             !known.report && !known.story.submitted && !known.setup;
  if (!is_own_script) return {};
  const std::string beside = std::filesystem::path(known.files->folder).parent_path().string();
  const std::string folder =
      printable(beside) +
      (known.id.contains('_') ? "/${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" : "/$SLURM_JOB_ID");
  return fmt::format(
      "if its script runs toprun: toprun --node-log \"{0}\" --report \"{0}/report.json\" lets "
      "status show ranks, phases and the cause of a failure",
      folder);
}

// For a job of srun alone, whose files are unknown: it may run toprun, and may hang.
std::string more_of_job_without_files(const Queue* queue, const jobs::KnownJob& known) {
  const bool may_be_asked = queue != nullptr && queue->kind() == engines::QueueKind::slurm &&
                            known.job && known.job->state == JobState::running &&
                            known.job->uid == ::getuid() && !known.report;
  if (!may_be_asked) return {};
  return fmt::format(
      "if it runs toprun: toprun stacks {} shows what each rank does now; with "
      "toprun --report FILE, toprun status FILE shows ranks, phases and a hang",
      jobs::id_word(*known.job));
}

std::string text_of(const Queue* queue, const jobs::KnownJob& known, const Style& style) {
  std::string out;
  const bool ended = !known.job || has_ended(known.job->state);
  const jobs::JobSummary what = jobs::summary_of(known);
  if (known.job) {
    const Job& job = *known.job;
    out += headline(job);
    out += row("state", coloured(state_of(job, what), jobs::colour_of(job.state), style));
    out += waiting_rows(*queue, job);
    out += row("times", times_text(job, known.story.submitted));
    if (job.state == JobState::running && known.files) {
      out += row("last line", jobs::last_line_in(known).shown());
    }
    if (job.progress) out += row("training", jobs::progress_text(*job.progress));
    out += row("nodes", job.node_list.empty()
                            ? fmt::format("{} wanted", job.nodes)
                            : fmt::format("{}: {}", job.nodes, printable(job.node_list)));
    out += row("folder", printable(job.folder));
    out += row("not told", printable(job.untold));
  } else {
    out += jobs::forgotten_head(known) + '\n';
    out += row("state", coloured(what.words, jobs::colour_of(what.state), style) + ' ' +
                            jobs::from_its_files(known, queue));
    out += row("times", times_by_files(known, what));
    out += row("nodes", nodes_by_files(known));
    out += row("folder", directory_by_files(known));
  }
  const std::string word = known.job ? jobs::id_word(*known.job) : jobs::id_word(known.id);
  if (known.report) {
    out += run_rows(known.report->run, ended, word);
    if (known.files) out += lost_nodes_rows(known.report->run, *known.files);
    out += earlier_rows(known.report->run);
  }
  const std::string advice =
      row("next", known.report ? advice_in(known.report->run, ended) : std::string());
  if (!known.files) return out + row("more", more_of_job_without_files(queue, known)) + advice;
  const bool has_output = !ended || known.has_output;
  out += page_rows(known) + files_rows(*known.files, has_output) + row("more", more_text(known)) +
         advice;
  if (!has_output) return out;
  return out + row(advice.empty() ? "next" : "",
                   fmt::format("toprun logs {}{}", ended ? "" : "-f ", word));
}

json json_of(const Queue* queue, const jobs::KnownJob& known) {
  json document = known.job ? jobs::job_json(*queue, *known.job) : jobs::forgotten_json(known);
  document["told"] = jobs::summary_of(known).words;
  const bool runs = known.job && known.job->state == JobState::running;
  const Outside line = runs && known.files ? jobs::last_line_in(known) : Outside();
  document["last_line"] = or_null(line);
  document["waits_for"] = json::array();
  if (known.job && known.job->state == JobState::pending) {
    const jobs::Waiting waiting = jobs::waiting(*queue, *known.job);
    document["waits_for"] = jobs::lines_of(waiting, *known.job, std::chrono::system_clock::now());
    document["expected_start"] = or_null(waiting.start);
  }
  document["output"] = known.files ? json(known.files->own) : json::array();
  document["report"] = known.report ? known.report->document : json(nullptr);
  return document;
}

Error unknown(const engines::JobId& id, const jobs::FoundQueue& queue) {
  if (!queue) {
    return {fmt::format("cannot find out whether job {} exists", id.text), queue.error().line(), "",
            queue.error()->exit_code};
  }
  return {fmt::format("job {} is unknown", id.text),
          fmt::format("{}; {}", (*queue)->forgets(id), jobs::no_files_text({})),
          jobs::lists_of_jobs, exit_failure};
}

std::string list_text(const Queue* queue, const std::vector<jobs::KnownJob>& all) {
  json list = json::array();
  for (const jobs::KnownJob& known : all) list.push_back(json_of(queue, known));
  const json document = {{"schema", "toprun.status/1"},
                         {"engine", queue == nullptr ? json(nullptr) : json(queue->engine())},
                         {"jobs", std::move(list)}};
  return json_text(document, 2) + '\n';
}

// Of a run in the pods of a job, what its own report tells.
Result<int> show_run_status(const pods::RunId& id, const Call& call) {
  const auto text = TRY(pods::report_of_run(id, call.environment));
  if (call.has(FlagId::json)) return print_bytes(text);
  const auto report = TRY(jobs::parse_report(text));
  return print(fmt::format("run {}/{}\n", id.job, id.run) + run_rows(report.run, false, "") +
               row("next", advice_in(report.run, false)));
}

// Of a run whose root is on this host, by its live picture. Empty: it is elsewhere, does not
// answer, or has printed nothing.
Outside line_in_picture(const std::string& report, const Environment& environment) {
  const auto job = job_of_report(report, "the last line", environment);
  if (!job || !*job) return {};
  const auto text = picture_text(**job);
  if (!text || !*text) return {};
  const auto picture = picture_of(**text);
  if (!picture) return {};
  const auto rank = snapshot::newest_to_speak(*picture, 0, picture->ranks.size());
  return rank ? picture->ranks[*rank].line : Outside();
}

std::string root_text(const RootLook& root) {
  switch (root.state) {
    case RootLook::State::runs:
      return {};
    case RootLook::State::gone:
      return root.why + ": the run ended without a last report";
    case RootLook::State::unknown:
      return root.why + "; so whether the run goes on cannot be told from here";
  }
  return {};
}

// "train.py (bigrun)".
std::string program_text(const model::RunRecord& run) {
  const bool has_title = !run.title.empty() && run.title != run.program;
  if (run.program.empty()) return has_title ? run.title.shown() : std::string();
  return has_title ? fmt::format("{} ({})", run.program, run.title) : run.program.shown();
}

std::string run_times_text(const model::RunRecord& run) {
  const auto started = model::if_known(run.started);
  const bool is_over = model::reported_code(run).has_value();
  const auto ended = is_over ? model::if_known(run.ended) : std::nullopt;
  const std::string span = jobs::span_text(started, ended);
  if (!started || !ended || *ended < *started) return span;
  return fmt::format("{} ({})", span, duration_text(*ended - *started));
}

// "by alice at 06:04:10", if the report is in a job's folder, whose story tells it.
std::string cancellation_text(const std::string& path, const model::RunRecord& run) {
  const auto job = jobs::files_at(std::filesystem::absolute(path).string());
  if (!job) return {};
  const jobs::JobStory story = jobs::read_story(job->files.folder);
  const auto* const cancel = jobs::cancel_since(story, run.started);
  const auto ended = model::if_known(run.ended);
  const bool ended_before = cancel != nullptr && ended && *ended < cancel->at;
  return cancel == nullptr || ended_before
             ? std::string()
             : fmt::format("by {}, {}", cancel->by, time_text(cancel->at));
}

// Of the file of --report: that run may have no engine.
Result<int> show_report_status(const std::string& path, const Call& call) {
  auto found = jobs::read_report(path);
  if (!found) return usage(found.error()->what, found.error()->why);
  auto report = *std::move(found);
  if (!report) return fail("cannot read " + path, "the file is gone");
  if (call.has(FlagId::json)) return print_bytes(json_text(report->document, 2) + '\n');
  RootLook root = report->run.running_at ? look_at_root(path, call.environment) : RootLook();
  if (root.state == RootLook::State::gone) {  // perhaps it has just ended, and reported its end
    if (auto again = jobs::read_report(path); again && *again && !(*again)->run.running_at) {
      report = std::move(*again);
      root = {};
    }
  }
  std::string text = fmt::format("run of {}", printable(path));
  const model::RunRecord& run = report->run;
  if (!run.root_host.empty()) text += fmt::format(", root agent on {}", run.root_host);
  const bool is_heard = root.state == RootLook::State::runs;
  text += '\n' + row("program", program_text(run)) + row("times", run_times_text(run)) +
          row("cancelled", cancellation_text(path, run)) +
          run_rows(run, !is_heard, jobs::id_word(path));
  // What the file said last, where the root cannot be asked.
  if (root.state == RootLook::State::unknown && run.gathering) {
    text += gathering_rows(*run.gathering);
  }
  text += row("root", root_text(root)) + row("next", advice_in(run, !is_heard));
  if (run.running_at && is_heard) {
    text += row("last line", line_in_picture(path, call.environment).shown());
  }
  return print(text);
}

// The array whose tasks these are; empty: it is one job, or they are the components of one.
std::string array_of(const std::vector<jobs::KnownJob>& all) {
  if (all.size() < 2) return {};
  const std::string array = all.front().id.substr(0, all.front().id.find('_'));
  const bool are_tasks = std::ranges::all_of(
      all, [&](const jobs::KnownJob& known) { return known.id.starts_with(array + '_'); });
  return are_tasks ? array : std::string();
}

std::string_view word_of_task(JobState state) {
  switch (state) {
    case JobState::pending:
    case JobState::starting:
      return "waiting";
    case JobState::completed:
      return "succeeded";
    case JobState::completing:
      return "ending";
    case JobState::unknown:
      return "with an unknown end";
    case JobState::running:
      return "running";
    case JobState::suspended:
      return "suspended";
    case JobState::failed:
      return "failed";
    case JobState::cancelled:
      return "cancelled";
  }
  return "with an unknown end";
}

// "array 7 (many): 4 tasks: 2 running, 1 failed, 1 waiting". A record may be of several tasks, and
// its list of them may be shortened: "4 or more tasks: … 1 or more waiting".
std::string array_line(const std::string& array, const std::vector<jobs::KnownJob>& all) {
  constexpr std::array order = {JobState::running,   JobState::completing, JobState::suspended,
                                JobState::pending,   JobState::completed,  JobState::failed,
                                JobState::cancelled, JobState::unknown};
  std::map<std::string_view, std::size_t> counts;
  std::size_t tasks = 0;
  std::string_view shortened;
  std::string name;
  for (const jobs::KnownJob& known : all) {
    const jobs::JobSummary what = jobs::summary_of(known);
    const auto own = jobs::parse_tasks(std::string_view(known.id).substr(array.size() + 1));
    if (!own) shortened = word_of_task(what.state);
    const std::size_t count = own ? own->size() : 1;
    counts[word_of_task(what.state)] += count;
    tasks += count;
    if (name.empty()) name = what.name;
  }
  std::vector<std::string> parts;
  for (const JobState state : order) {
    const std::size_t count = counts[word_of_task(state)];
    const std::string_view word = word_of_task(state);
    if (count == 0) continue;
    parts.push_back(fmt::format("{}{} {}", count, word == shortened ? " or more" : "", word));
  }
  return fmt::format(
      "array {}{}: {}: {}\n", printable(array), name.empty() ? "" : fmt::format(" ({})", name),
      !shortened.empty() ? fmt::format("{} or more tasks", tasks) : counted(tasks, "task"),
      join(parts, ", "));
}

// Tasks of an array in a line each, where a block each would be too much.
std::string tasks_table(const std::vector<jobs::KnownJob>& tasks, const std::string& array) {
  std::vector<std::vector<std::string>> rows;
  for (const jobs::KnownJob& known : tasks) {
    if (rows.size() == most_task_rows) {
      rows.push_back({fmt::format("… and {} more (--json)", tasks.size() - rows.size())});
      break;
    }
    rows.push_back({"  " + printable(known.id), jobs::summary_of(known).words});
  }
  return fmt::format("{}  toprun status {}_N shows one task\n", report::columns_text(rows, {}),
                     array);
}

// The blocks of all tasks, or of many tasks those that failed and a table of the others.
std::string array_text(const Queue* queue, const std::string& array,
                       const std::vector<jobs::KnownJob>& all, const Style& style) {
  std::string text = array_line(array, all);
  std::size_t blocks = 0;
  std::vector<jobs::KnownJob> others;
  for (const jobs::KnownJob& known : all) {
    const bool is_shown =
        all.size() <= most_task_blocks ||
        (blocks < most_task_blocks && jobs::summary_of(known).state == JobState::failed);
    if (is_shown) {
      text += '\n' + text_of(queue, known, style);
      ++blocks;
    } else {
      others.push_back(known);
    }
  }
  return others.empty() ? text : text + '\n' + tasks_table(others, array);
}

// Of jobs that the engine knows, or that only their files still tell of.
Result<int> show(const Queue* queue, const std::vector<jobs::KnownJob>& all, const Call& call) {
  if (call.has(FlagId::json)) return print_bytes(list_text(queue, all));
  const Style style = style_of(STDOUT_FILENO, call.environment);
  if (const std::string array = array_of(all); !array.empty()) {
    return print(array_text(queue, array, all, style));
  }
  std::string text;
  for (const jobs::KnownJob& known : all) {
    if (!text.empty()) text += '\n';
    text += text_of(queue, known, style);
  }
  return print(text);
}

Result<int> show_status(const std::string& name, const Call& call) {
  const auto id = TRY(jobs::job_id_in(name, call.environment));
  jobs::FoundQueue queue = engines::find_queue_of(id, call.environment);
  const bool has_engine = queue.has_value();
  const auto all = TRY(jobs::find_known(id, queue));
  if (all.empty()) return std::unexpected(unknown(id, queue));
  if (has_engine && !queue) jobs::say_why_only_files(queue.error().line(), "state");
  return show(queue ? queue->get() : nullptr, all, call);
}

Result<int> show_folder_status(const jobs::JobAtPath& job, const Call& call) {
  if (job.is_known) return show_status(job.found.id, call);
  const std::string report = job.found.files.report();
  const bool as_json = call.has(FlagId::json);
  if (!job.is_forgotten && (as_json || jobs::is_there(report))) {
    jobs::say_why_only_files(job.why_only_files, "state");
    if (!as_json) return show_report_status(report, call);
  }
  return show(nullptr, jobs::known_by_files(job), call);
}

}  // namespace

Result<int> run_status(const options::Call& call) {
  std::error_code error;
  const std::string operand = call.operand();
  const std::string argument =
      operand.empty() ? TRY(jobs::latest_job_here(call.environment)) : operand;
  const bool is_file = std::filesystem::is_regular_file(operand, error);
  const bool is_output = operand.ends_with(".out");
  if (is_file && !is_output) return show_report_status(operand, call);
  if (const auto job = jobs::job_at(argument, call.environment)) {
    return show_folder_status(*job, call);
  }
  if (is_file && jobs::read_report(operand)) return show_report_status(operand, call);
  if (const auto run = pods::run_id_in(argument)) {
    return *run ? show_run_status(**run, call) : std::unexpected(run->error());
  }
  return show_status(argument, call);
}

}  // namespace toprun::cli
