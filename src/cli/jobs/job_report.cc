#include "cli/jobs/job_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/trust.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "observe/snapshot/snapshot.h"

namespace toprun::jobs {
namespace {

using nlohmann::json;

// The stage that an attempt's last phase leads to.
std::string_view stage_of(const model::Phases& phases) {
  if (phases.spawn || phases.first_connect || phases.last_connect || phases.first_collective) {
    return "running";
  }
  if (phases.order || phases.stage) return "preparing";
  return phases.join ? "arranging" : "gathering";
}

// mpirun starts the ranks by itself, and no phase has a time.
bool is_of_mpirun(const model::AttemptRecord& attempt) {
  return !attempt.nodes.empty() && times_text(attempt.phases).empty();
}

}  // namespace

bool has_ranks(const model::AttemptRecord& attempt) {
  return attempt.phases.spawn || is_of_mpirun(attempt);
}

std::string phase_words(const model::AttemptRecord& attempt) {
  return std::string(
      snapshot::words_of_stage(is_of_mpirun(attempt) ? "running" : stage_of(attempt.phases)));
}

std::string times_text(const model::Phases& times) {
  return join(model::times_texts(times), ", ");
}

Result<JobReport> parse_report(std::string_view text) {
  JobReport report;
  report.document = json_in(text);
  if (text.empty()) return fail("it is not a toprun report", "it is empty");
  if (report.document.is_discarded()) {
    return fail("it is not a toprun report", "it is not JSON, or it is incomplete");
  }
  if (!model::is_report(report.document)) {
    return fail("it is not a toprun report",
                fmt::format("its schema is not {}", model::report_schema));
  }
  report.run = model::record_in(report.document);
  return report;
}

Result<JobReport> read_report_to_follow(const std::string& path, const std::string& what) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail_errno("cannot read " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot read " + path);
  if (!S_ISREG(status.st_mode)) return fail(what, "the report is not a regular file");
  if (const std::string why = distrust(status, ::geteuid()); !why.empty()) {
    return fail(what, "the report names the address of the job's agent, and " + why,
                "run this command as the user who owns the job");
  }
  const auto text = TRY(read_open_file(file, path, max_report_bytes));
  auto report = parse_report(text);
  if (!report) return usage("cannot read the report " + path, report.error()->why);
  const model::RunRecord& run = report->run;
  if (run.root_pid == 0 || run.root_host.empty() || !model::if_known(run.started)) {
    return fail(
        what,
        "the report does not contain the host, process and start time of the job's root agent",
        "give the file that the job's --report names");
  }
  if (model::reported_code(run)) {
    return fail(what, "the job has ended",
                fmt::format("toprun status {} shows how", shell_quote(std::span(&path, 1))));
  }
  return report;
}

Result<std::optional<JobReport>> read_report(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const auto text = TRY(read_plain_file(path, max_report_bytes));
  auto report = parse_report(text);
  if (!report) return fail("cannot read the report " + path, report.error()->why);
  return *std::move(report);
}

}  // namespace toprun::jobs
