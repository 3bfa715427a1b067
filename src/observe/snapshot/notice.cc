#include "observe/snapshot/notice.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/clock.h"
#include "observe/report/report.h"
#include "run/model/exit.h"

namespace toprun::snapshot {
namespace {

using nlohmann::json;

std::string_view name_of(Happening happening) {
  switch (happening) {
    case Happening::restarts:
      return "restarts";
    case Happening::hangs:
      return "hangs";
    case Happening::ended:
      return "ended";
  }
  return {};
}

// "train.py (17)"
std::string name_of(const Run& run) {
  const std::string name = short_name(run.record);
  const std::string& id = run.id.empty() ? run.record.job.raw() : run.id;
  if (name.empty() || name == id) return id;
  // toprun's own id of a job on one host, which no user has seen.
  constexpr std::size_t uuid_length = 36;
  if (run.id.empty() && id.size() == uuid_length && !run.record.root_host.empty()) {
    return fmt::format("{} on {}", name, run.record.root_host);
  }
  return fmt::format("{} ({})", name, id);
}

// What happened and, for a hang, where.
std::string cause_text(const model::Cause& cause) {
  return cause.kind == model::CauseKind::hang ? model::short_text(cause) : model::sentence(cause);
}

std::string what_of(Happening happening, const Run& run) {
  if (run.record.attempts.empty()) return {};
  const model::AttemptRecord& last = run.record.attempts.back();
  if (happening == Happening::hangs) return last.hang ? model::headline(*last.hang) : "";
  return last.cause ? cause_text(*last.cause) : "";
}

std::string why_with_code(const model::RunRecord& record) {
  const bool is_reported = !record.attempts.empty() && record.attempts.back().cause;
  if (is_reported && record.attempts.back().cause->kind == model::CauseKind::hang) {
    return fmt::format("{}, exit code {}", cause_text(*record.attempts.back().cause),
                       record.exit_code);
  }
  return is_reported ? model::sentence_with_code(*record.attempts.back().cause, record.exit_code)
                     : fmt::format("exit code {}", record.exit_code);
}

// "after 3 min 05 s and 1 restart".
std::string time_and_history(const model::RunRecord& record) {
  constexpr std::string_view after = " after ";
  const std::string history = report::history_text(record);
  return fmt::format("after {}{}", duration_text(record.ended - record.started),
                     history.empty() ? "" : " and " + history.substr(after.size()));
}

std::string sentence_on(Happening happening, const Run& run, const std::string& what) {
  const std::string after = time_and_history(run.record);
  switch (happening) {
    case Happening::restarts:
      return "starts again: " + what;
    case Happening::hangs:
      return "hangs: " + what;
    case Happening::ended:
      if (run.record.exit_code == 0) return fmt::format("ended well {}", after);
      if (run.record.exit_code == model::exit_found && what.empty()) {
        return fmt::format("found something {}, exit code {}", after, run.record.exit_code);
      }
      return fmt::format("failed {}: {}", after, why_with_code(run.record));
  }
  return {};
}

}  // namespace

json notice_json(Happening happening, Run run, WallTime now) {
  model::RunRecord& record = run.record;
  const bool next_has_begun = happening == Happening::restarts && record.attempts.size() > 1 &&
                              !record.attempts.back().cause;
  if (next_has_begun) record.attempts.pop_back();
  const bool is_over = happening == Happening::ended;
  std::size_t ranks = 0;
  for (const model::NodeRecord& node : nodes_of(record))
    ranks += static_cast<std::size_t>(node.nproc);
  const std::string what = what_of(happening, run);
  return {{"schema", "toprun.notice/1"},
          {"event", name_of(happening)},
          {"text", fmt::format("toprun: {} {}", name_of(run), sentence_on(happening, run, what))},
          {"job", record.job},
          {"id", run.id},
          {"program", run.record.program},
          {"host", record.root_host},
          {"nodes", nodes_of(record).size()},
          {"ranks", ranks},
          {"attempt", record.attempts.empty() ? 0 : record.attempts.back().attempt},
          {"what", or_null(what)},
          {"exit_code", or_null(is_over, record.exit_code)},
          {"started", rfc3339(record.started)},
          {"time", rfc3339(now)}};
}

}  // namespace toprun::snapshot
