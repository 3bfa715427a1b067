#include "launch/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "base/console.h"

namespace toprun::launch {
namespace {

constexpr std::pair<std::string_view, view::CauseKind> kinds[] = {
    {"exit", view::CauseKind::exit},
    {"signal", view::CauseKind::signal},
    {"node_lost", view::CauseKind::node_lost},
    {"agent_lost", view::CauseKind::agent_lost},
    {"join_timeout", view::CauseKind::join_timeout},
    {"interrupted", view::CauseKind::interrupted},
};

std::optional<view::Cause> cause_in(const Verdict& verdict) {
  if (verdict.kind.empty()) return std::nullopt;
  if (verdict.exit) return view::cause_of(*verdict.exit);
  view::Cause cause;
  for (const auto& [name, kind] : kinds) {
    if (name == verdict.kind) cause.kind = kind;
  }
  cause.node = verdict.node;
  cause.message = verdict.message;
  return cause;
}

view::Phases phases_of(const Phases& phases) {
  const auto since = [&](const std::optional<SteadyTime>& time) {
    std::optional<std::chrono::milliseconds> passed;
    if (time) {
      passed = std::chrono::duration_cast<std::chrono::milliseconds>(*time - phases.began);
    }
    return passed;
  };
  return {since(phases.joined), since(phases.ordered), since(phases.spawned),
          since(phases.first_connect), since(phases.last_connect)};
}

view::RunRecord record_of(const Job& job, const Course& course) {
  view::AttemptRecord attempt;
  attempt.started = course.started;
  attempt.ended = course.ended;
  attempt.phases = phases_of(course.phases);
  attempt.nodes = course.nodes;
  attempt.cause = cause_in(course.verdict);
  view::RunRecord record{
      job.name, course.verdict.exit_code, course.started, course.ended, {attempt}, 0};
  if (job.place.stance == scheduler::Stance::in_place && course.phases.spawned) {
    record.unseen = job.tasks - static_cast<int>(course.verdict.exits.size());
  }
  return record;
}

void write_report(const std::string& path, const view::RunRecord& record) {
  std::ofstream file(path);
  file << view::report_json(record).dump(2) << '\n';
  if (!file.flush()) say(fail_errno("cannot write the report " + path).error().line());
}

}  // namespace

std::string summary(const Job& job, const Course& course) {
  return view::last_line(record_of(job, course));
}

void tell_the_end(const Job& job, const Course& course) {
  const view::RunRecord record = record_of(job, course);
  const auto& cause = record.attempts.front().cause;
  if (cause && cause->node.empty() && !cause->rank) {
    say(cause->message);
  } else if (cause) {
    const view::Style style =
        view::style_for(::isatty(STDERR_FILENO) != 0, job.environment.get("NO_COLOR"));
    const agent::WorkerExit* exit = nullptr;
    for (const agent::WorkerExit& one : course.verdict.exits) {
      if (course.verdict.exit && one.rank == course.verdict.exit->rank) exit = &one;
    }
    say_block(view::failure_report(*cause, view::count_others(course.verdict.exits, exit),
                                   job.options.log_dir.value_or(""), style));
  }
  if (job.options.report) write_report(*job.options.report, record);
  say_block(view::last_line(record));
}

}  // namespace toprun::launch
