#include "cli/jobs/job_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>

#include "base/json/json_members.h"
#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/trust.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "run/model/phases.h"

namespace toprun::jobs {
namespace {

using nlohmann::json;

constexpr int max_ranks = 100'000'000;

std::optional<int> number_at(const json& object, const char* key) {
  return toprun::number_at(object, key, max_ranks);
}

JobReport::Node node_of(const json& node) {
  return {text_at(node, "name"), number_at(node, "first_rank").value_or(0),
          number_at(node, "nproc").value_or(0), text_at(node, "location"), text_at(node, "logs")};
}

// A phase, and what follows it.
struct Phase {
  const char* key;
  const char* name;
  const char* words;
};
constexpr std::array phases = {
    Phase{"first_collective", "first collective", "its ranks have come to their first collective"},
    Phase{"last_connect", "last connection", "its ranks run and have met"},
    Phase{"first_connect", "first connection", "its ranks run"},
    Phase{"spawn", "spawn", "its ranks run"},
    Phase{"stage", "stage", "its ranks are being started"},
    Phase{"order", "order", "its ranks are being started"},
    Phase{"join", "join", "its nodes are being put in order"},
};

std::string phase_of(const json& attempt) {
  const json& times = member(attempt, "phases_ms");
  for (const Phase& phase : phases) {
    if (member(times, phase.key).is_number()) return phase.words;
  }
  return "its nodes are being gathered";
}

std::string times_of(const json& attempt) {
  const json& times = member(attempt, "phases_ms");
  std::vector<std::string> texts;
  for (const Phase& phase : phases | std::views::reverse) {
    if (const auto ms = number_at(times, phase.key)) {
      texts.push_back(
          fmt::format("{} {}", phase.name, duration_text(std::chrono::milliseconds(*ms))));
    }
  }
  return join(texts, ", ");
}

std::optional<model::CauseKind> kind_of(const json& cause) {
  return model::cause_kind_called(text_at(cause, "kind"));
}

// The words for what happened are left out where the message, from the engine or of a link, says
// it.
std::string cause_of(const json& cause) {
  const std::string what = text_at(cause, "what");
  const std::string message(first_line(text_at(cause, "message")));
  if (kind_of(cause) == model::CauseKind::time_limit && !message.empty()) return message;
  const std::string lost = fmt::format("lost {}: ", text_at(cause, "node"));
  if (message.starts_with(lost)) return fmt::format("{}: {}", what, message.substr(lost.size()));
  return message.empty() ? what : fmt::format("{}: {}", what, message);
}

std::optional<JobReport::Hang> hang_of(const json& hang) {
  JobReport::Hang out{
      text_at(hang, "what"), {}, time_in(text_at(hang, "noticed")), time_in(text_at(hang, "over"))};
  if (out.what.empty()) return std::nullopt;
  out.since = out.noticed;
  if (const auto after = number_at(hang, "after_ms"); out.since && after) {
    *out.since -= std::chrono::milliseconds(*after);
  }
  return out;
}

std::optional<model::Interruption> interruption_of(const json& interrupted) {
  const auto signal = number_at(interrupted, "signal");
  const auto at = time_in(text_at(interrupted, "at"));
  if (!signal || !at) return std::nullopt;
  const int grace_ms = number_at(interrupted, "grace_ms").value_or(0);
  return model::Interruption{*signal, *at, std::chrono::milliseconds(grace_ms)};
}

std::optional<model::Gathering> gathering_of(const json& gathering) {
  const auto least = number_at(gathering, "least");
  const auto most = number_at(gathering, "most");
  const auto ends_at = time_in(text_at(gathering, "ends_at"));
  if (!least || !most || !ends_at) return std::nullopt;
  model::Gathering out;
  out.least = static_cast<std::size_t>(*least);
  out.most = static_cast<std::size_t>(*most);
  out.begins_at = time_in(text_at(gathering, "begins_at"));
  out.ends_at = *ends_at;
  const auto names = texts_at(gathering, "here");
  out.here.assign(names.begin(), names.end());
  out.missing = texts_at(gathering, "missing");
  return out;
}

void read_spares(JobReport& report) {
  const auto spares = texts_at(report.document, "spares");
  report.spares.assign(spares.begin(), spares.end());
  const json& lost = member(report.document, "lost_spares");
  for (const json& spare : lost.is_array() ? lost : json::array()) {
    report.lost_spares.push_back(
        {text_at(spare, "node"), time_in(text_at(spare, "at")), text_at(spare, "why")});
  }
}

JobReport::Earlier earlier_of(const json& run) {
  return {time_in(text_at(run, "started")), time_in(text_at(run, "ended")),
          number_at(run, "exit_code"), cause_of(member(run, "cause"))};
}

JobReport::Attempt attempt_of(const json& attempt) {
  JobReport::Attempt out;
  out.attempt = number_at(attempt, "attempt").value_or(0);
  out.ended = member(attempt, "ended").is_string();
  out.phase = phase_of(attempt);
  out.runs = member(member(attempt, "phases_ms"), "spawn").is_number();
  out.cause = cause_of(member(attempt, "cause"));
  out.kind = kind_of(member(attempt, "cause"));
  out.exit_code = number_at(member(attempt, "cause"), "exit_code");
  out.times = times_of(attempt);
  if (const auto awaited = model::awaited_in(member(attempt, "awaited"))) {
    out.awaited = model::awaited_text(*awaited);
  }
  const auto slowest = model::slowest_lines(model::spreads_in(member(attempt, "slowest")));
  out.slowest.assign(slowest.begin(), slowest.end());
  out.hang = hang_of(member(attempt, "hang"));
  out.interrupted = interruption_of(member(attempt, "interrupted"));
  const json& nodes = member(attempt, "nodes");
  if (!nodes.is_array()) return out;
  for (const json& node : nodes) out.nodes.push_back(node_of(node));
  // Nodes without any time are those of mpirun, which starts the ranks by itself.
  if (!out.nodes.empty() && out.times.empty()) {
    out.runs = true;
    out.phase = "its ranks run";
  }
  return out;
}

}  // namespace

Result<JobReport> parse_report(std::string_view text) {
  JobReport report;
  report.document = json_in(text);
  if (text.empty()) return fail("it is not a report of toprun", "it is empty");
  if (report.document.is_discarded()) {
    return fail("it is not a report of toprun", "it is not JSON, or not all of it is there");
  }
  if (text_at(report.document, "schema") != model::report_schema) {
    return fail("it is not a report of toprun",
                fmt::format("its schema is not {}", model::report_schema));
  }
  report.exit_code = number_at(report.document, "exit_code");
  report.job = text_at(report.document, "job");
  report.started = time_in(text_at(report.document, "started"));
  report.updated = time_in(text_at(report.document, "updated"));
  const json& root = member(report.document, "root");
  report.root_host = text_at(root, "host");
  report.root_pid = number_at(root, "pid").value_or(0);
  if (report.document.contains("grow")) report.grow = text_at(report.document, "grow");
  report.restarts = number_at(report.document, "restarts");
  report.max_restarts = number_at(report.document, "max_restarts");
  read_spares(report);
  report.gathering = gathering_of(member(report.document, "gathering"));
  const json& earlier = member(report.document, "earlier");
  if (earlier.is_array()) {
    for (const json& run : earlier) report.earlier.push_back(earlier_of(run));
  }
  const json& attempts = member(report.document, "attempts");
  if (!attempts.is_array()) return report;
  for (const json& attempt : attempts) report.attempts.push_back(attempt_of(attempt));
  return report;
}

Result<JobReport> read_report_to_follow(const std::string& path, const std::string& what) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail_errno("cannot read " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot read " + path);
  if (!S_ISREG(status.st_mode)) return fail(what, "the report is not a regular file");
  if (const std::string why = distrust(status, ::geteuid()); !why.empty()) {
    return fail(what, "the report says where to ask, and " + why,
                "ask as the user whose job it is");
  }
  const auto text = TRY(read_open_file(file, path, max_report_bytes));
  auto report = parse_report(text);
  if (!report) return usage("cannot read the report " + path, report.error().why);
  if (report->root_pid == 0 || report->root_host.empty() || !report->started) {
    return fail(what, "the report does not say where the job's root agent is, and since when",
                "give the file that --report names");
  }
  if (report->exit_code) return fail(what, "the job has ended");
  return report;
}

Result<std::optional<JobReport>> read_report(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const auto text = TRY(read_plain_file(path, max_report_bytes));
  auto report = parse_report(text);
  if (!report) return fail("cannot read the report " + path, report.error().why);
  return *std::move(report);
}

}  // namespace toprun::jobs
