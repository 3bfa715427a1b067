#include "node/agent/publish/report_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "engines/slurm/variables.h"
#include "node/agent/ending.h"

namespace toprun::publish {
namespace asio = boost::asio;
namespace {

// The versions of one file. Used by one thread of the pool after the other.
struct Versions {
  const std::string path;
  bool again;  // what an earlier run has left was not read yet
  std::vector<model::EarlierRun> earlier = {};
  bool has_folder = false;

  // Creates the file's folder if it is missing, as for --log-dir and --node-log.
  Result<void> make_folder() {
    const bool names_a_file = std::filesystem::path(path).has_filename();
    if (has_folder || !names_a_file) return {};
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code failed;
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    has_folder = !failed;
    if (has_folder) return {};
    return fail("cannot write " + path,
                fmt::format("cannot create {}: {}", folder.string(), failed.message()));
  }

  std::string text_of(model::RunRecord record) {
    if (std::exchange(again, false)) {
      earlier = model::earlier_runs(read_plain_file(path).value_or(""));
    }
    record.earlier = earlier;
    return json_text(model::report_json(record), 2) + '\n';
  }
};

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
  attempt.lost_nodes = course.lost_nodes;
  attempt.failed_too = course.failed_too;
  attempt.started_no_rank = course.started_no_rank;
  attempt.cause = cause_in(course.verdict);
  return attempt;
}

// A file system that takes longer for a version while the run goes on gets no other.
constexpr std::chrono::minutes version_limit{10};

}  // namespace

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

std::string title_of(const plan::Job& job) {
  if (const auto name = engines::slurm::own_job_name(job.environment)) return *name;
  return job.options.rdzv_id.is_set() ? job.options.rdzv_id.value : "";
}

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

struct ReportFile::State {
  State(Pool& threads, std::optional<std::string> file, bool again)
      : pool(threads),
        path(std::move(file)),
        versions(std::make_shared<Versions>(path.value_or(""), again)),
        rests(threads.io(), SteadyTime::max()) {}

  Pool& pool;
  const std::optional<std::string> path;
  const std::shared_ptr<Versions> versions;
  bool writing = false;
  bool has_failed = false;  // which was said
  std::optional<model::RunRecord> next;
  Timer rests;  // cancelled when nothing is being written any more
};

ReportFile::ReportFile(Pool& pool, std::optional<std::string> path, bool again)
    : state_(std::make_shared<State>(pool, std::move(path), again)) {}

void ReportFile::keep(model::RunRecord record) {
  if (!state_->path) return;
  if (state_->writing) {
    state_->next = std::move(record);
  } else {
    write(state_, std::move(record));
  }
}

void ReportFile::write(const std::shared_ptr<State>& state, model::RunRecord record) {
  state->writing = true;
  state->pool.run<Result<void>>(
      version_limit,
      [versions = state->versions, record = std::move(record)]() -> Result<void> {
        if (is_special(versions->path)) return {};
        TRY(versions->make_folder());
        return replace_file(versions->path, versions->text_of(record));
      },
      [state](const Pool::Answer<Result<void>>& written) {
        if (!written) return;  // and nothing more is: a later version must not be overtaken
        state->writing = false;
        if (!*written && !std::exchange(state->has_failed, true)) {
          say(fmt::format("cannot write {}: {}; the job goes on, and toprun tries again",
                          *state->path, written->error()->why));
        }
        if (auto next = std::exchange(state->next, std::nullopt)) {
          write(state, *std::move(next));
        } else {
          state->rests.cancel();
        }
      });
}

asio::awaitable<void> ReportFile::finish(model::RunRecord record) {
  if (!state_->path) co_return;
  state_->next.reset();
  const SteadyTime deadline = SteadyClock::now() + report_limit;
  while (state_->writing && SteadyClock::now() < deadline) {
    state_->rests.expires_at(deadline);
    co_await state_->rests.async_wait(use_nothrow_awaitable);
  }
  const std::string path = *state_->path;
  std::string why =
      fmt::format("not done after {} s: no process reads the file, or its file system hangs",
                  report_limit.count());
  if (!state_->writing) {
    std::function<Result<void>()> work = [versions = state_->versions,
                                          record = std::move(record)]() -> Result<void> {
      TRY(versions->make_folder());
      return write_named_file(versions->path, versions->text_of(record));
    };
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    const auto written = co_await state_->pool.answer<Result<void>>(std::move(work), left);
    if (written && !*written) say(written->error().line());
    if (written) co_return;
    if (written.error() == Pool::NoAnswer::not_begun) why = Pool::words_for(written.error(), left);
  }
  say(fmt::format("cannot write {}: {}", path, why));
}

}  // namespace toprun::publish
