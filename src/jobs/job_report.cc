#include "jobs/job_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/json_members.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/trust.h"
#include "view/phases.h"

namespace toprun::jobs {
namespace {

using nlohmann::json;

constexpr int max_ranks = 100'000'000;

std::optional<int> number_at(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > max_ranks) return std::nullopt;
  return static_cast<int>(number);
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

std::string cause_of(const json& cause) {
  const std::string what = text_at(cause, "what"), message = text_at(cause, "message");
  return message.empty() ? what : fmt::format("{}: {}", what, message);
}

std::optional<JobReport::Hang> hang_of(const json& hang) {
  JobReport::Hang out{text_at(hang, "what"), time_in(text_at(hang, "noticed")),
                      time_in(text_at(hang, "over"))};
  if (out.what.empty()) return std::nullopt;
  return out;
}

JobReport::Attempt attempt_of(const json& attempt) {
  JobReport::Attempt out;
  out.attempt = number_at(attempt, "attempt").value_or(0);
  out.ended = member(attempt, "ended").is_string();
  out.phase = phase_of(attempt);
  out.cause = cause_of(member(attempt, "cause"));
  out.times = times_of(attempt);
  if (const auto awaited = view::awaited_in(member(attempt, "awaited"))) {
    out.awaited = view::awaited_text(*awaited);
  }
  const auto slowest = view::slowest_lines(view::spreads_in(member(attempt, "slowest")));
  out.slowest.assign(slowest.begin(), slowest.end());
  out.hang = hang_of(member(attempt, "hang"));
  const json& nodes = member(attempt, "nodes");
  if (!nodes.is_array()) return out;
  for (const json& node : nodes) out.nodes.push_back(node_of(node));
  return out;
}

}  // namespace

Result<JobReport> parse_report(std::string_view text) {
  JobReport report;
  report.document = json_in(text);
  if (text_at(report.document, "schema") != "toprun.report/1") {
    return fail("it is no report of toprun", "its schema is not toprun.report/1");
  }
  report.exit_code = number_at(report.document, "exit_code");
  report.job = text_at(report.document, "job");
  report.started = time_in(text_at(report.document, "started"));
  report.updated = time_in(text_at(report.document, "updated"));
  const json& root = member(report.document, "root");
  report.root_host = text_at(root, "host");
  report.root_pid = number_at(root, "pid").value_or(0);
  if (report.document.contains("grow")) report.grow = text_at(report.document, "grow");
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
  if (!S_ISREG(status.st_mode)) return fail(what, "the report is not a plain file");
  if (const std::string why = distrust(status, ::geteuid()); !why.empty()) {
    return fail(what, "the report says where to ask, and " + why,
                "ask as the user whose job it is");
  }
  const auto text = read_open_file(file, path, max_report_bytes);
  if (!text) return std::unexpected(text.error());
  auto report = parse_report(*text);
  if (!report) return fail("cannot read the report " + path, report.error().why);
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
  const auto text = read_plain_file(path, max_report_bytes);
  if (!text) return std::unexpected(text.error());
  auto report = parse_report(*text);
  if (!report) return fail("cannot read the report " + path, report.error().why);
  return *std::move(report);
}

}  // namespace toprun::jobs
