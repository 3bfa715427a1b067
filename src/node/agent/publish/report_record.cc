#include "node/agent/publish/report_record.h"

#include <unistd.h>

#include "base/net/address.h"
#include "engines/slurm/own_job.h"
#include "node/agent/ending.h"

namespace toprun::publish {

std::optional<model::Cause> cause_in(const run::Verdict& verdict) {
  if (!verdict.kind) return std::nullopt;
  const bool is_mismatch = verdict.kind == model::CauseKind::mismatch;
  if (verdict.absent.empty() && verdict.exit) {
    model::Cause cause = model::cause_of(*verdict.exit);
    if (is_mismatch) {
      cause.kind = *verdict.kind;
      cause.message = verdict.message;
    }
    return cause;
  }
  model::Cause cause;
  // If a single rank did not come, its last output shows where it may hang.
  if (verdict.absent.size() == 1) cause = model::cause_of(verdict.absent.front());
  cause.exit_code.reset();
  cause.signal.reset();
  cause.kind = *verdict.kind;
  cause.node = verdict.node;
  cause.meanwhile = verdict.meanwhile;
  cause.message = verdict.message;
  return cause;
}

namespace {

model::Phases phases_of(const run::Phases& phases) {
  const auto since = [&](const std::optional<SteadyTime>& time) {
    std::optional<std::chrono::milliseconds> passed;
    if (time) {
      passed = std::chrono::duration_cast<std::chrono::milliseconds>(*time - phases.began);
    }
    return passed;
  };
  return {since(phases.joined),       since(phases.ordered),  since(phases.staged),
          since(phases.spawned),      since(phases.imported), since(phases.first_connect),
          since(phases.last_connect), since(phases.met)};
}

model::AttemptRecord record_of(const run::AttemptCourse& course) {
  model::AttemptRecord attempt;
  attempt.attempt = course.number;
  attempt.started = course.started;
  attempt.ended = course.ended;
  attempt.phases = phases_of(course.phases);
  attempt.spreads = course.spreads;
  attempt.awaited = course.awaited;
  attempt.hang = course.hang;
  attempt.nodes = course.nodes;
  attempt.order = course.order;
  attempt.networks = course.networks;
  attempt.interrupted = course.interrupted;
  attempt.cause = cause_in(course.verdict);
  return attempt;
}

std::string title_of(const plan::Job& job) {
  if (const auto name = engines::slurm::own_job_name(job.environment)) return *name;
  return job.options.rdzv_id.is_set() ? job.options.rdzv_id.value : "";
}

}  // namespace

model::RunRecord record_of(const plan::Job& job, const run::Course& course) {
  model::RunRecord record;
  record.job = job.name;
  record.title = title_of(job);
  record.program = job.options.script;
  record.root_host = hosts::host_name();
  record.root_pid = ::getpid();
  record.exit_code = course.verdict.exit_code;
  record.started = course.started;
  record.ended = course.ended;
  record.restarts = course.restarts;
  record.max_restarts = job.options.max_restarts;
  record.lost_spares = course.lost_spares;
  if (job.is_elastic()) record.grow = run::name_of(job.options.grow);
  for (const run::AttemptCourse& attempt : course.attempts) {
    model::AttemptRecord& one = record.attempts.emplace_back(record_of(attempt));
    const bool is_last = &attempt == &course.attempts.back();
    if (one.cause) {
      one.cause->next =
          agent::next_step(job, attempt, *one.cause,
                           is_last ? agent::Follows::nothing : agent::Follows::another_attempt);
    }
  }
  return record;
}

}  // namespace toprun::publish
