#include "node/agent/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/style.h"
#include "engines/engine.h"
#include "engines/queue.h"
#include "engines/slurm/variables.h"
#include "node/agent/publish/report_file.h"
#include "node/agent/streams.h"
#include "observe/report/report.h"

namespace toprun::agent {
namespace {

// The folder of the rank's node with the files per rank; empty: it has not told.
std::string log_folder_of(int rank, const run::AttemptCourse& attempt) {
  for (const model::NodeRecord& node : attempt.nodes) {
    if (rank >= node.first_rank && rank < node.first_rank + node.nproc) return node.logs.raw();
  }
  return {};
}

// The file with what the failed rank wrote, stderr before stdout, or the folder below which it is;
// empty: none is kept.
std::string kept_log(const plan::Options& options, const run::AttemptCourse& attempt,
                     const model::Cause& cause) {
  if (!options.log_dir || !cause.rank || !cause.local_rank) return {};
  const std::string folder = log_folder_of(*cause.rank, attempt);
  const int local_rank = *cause.local_rank;
  const plan::StreamSet kept = options.redirects.of(local_rank) | options.tee.of(local_rank);
  if (kept == 0) return {};
  if (folder.empty()) return *options.log_dir;
  return fmt::format("{}/attempt_{}/{}/{}.log", folder, attempt.number, local_rank,
                     (kept & stderr_stream) != 0 ? "stderr" : "stdout");
}

// What the nodes of the job are called on its command line.
std::string_view nodes_word(const plan::Job& job) {
  if (job.place.engine == engines::EngineKind::ssh) return "hosts";
  return job.place.engine == engines::EngineKind::exec ? "pods" : "nodes";
}

// "-N 4", as Slurm's commands and `toprun submit` take it.
std::string one_node_more(const plan::Job& job) {
  switch (job.place.engine) {
    case engines::EngineKind::slurm:
      return fmt::format("-N {}", job.nnodes + 1);
    case engines::EngineKind::ssh:
      return "One more host in --hosts or --hostfile";
    default:
      return fmt::format("A job of {} {}", job.nnodes + 1, nodes_word(job));
  }
}

// "n4 of the Slurm job has no part: …"; empty if each of its nodes has one.
std::string advice_on_idle_nodes(const plan::Job& job) {
  std::vector<std::string> nodes;
  for (const engines::Node& node : job.place.nodes) nodes.push_back(node.name);
  const auto others = engines::slurm::other_nodes_of_own_job(job.environment, nodes);
  if (nodes.empty() || others.empty()) return {};
  return fmt::format(
      "{} of the Slurm job {} no ranks: with --max-restarts N such nodes wait as spares, and "
      "replace a lost node",
      hosts::short_list(others), others.size() == 1 ? "has" : "have");
}

// What lets a job go on without a lost node; empty for ranks in place, which are not restarted.
// `attempt`: the number of the last one, which is at least the number of restarts.
std::string advice_on_loss(const plan::Job& job, int attempt) {
  if (job.place.stance == engines::Stance::in_place) return {};
  const bool lacks_restarts = !job.replaces_nodes();
  if (lacks_restarts) {
    if (std::string idle = advice_on_idle_nodes(job); !idle.empty()) return idle;
  }
  if (job.is_elastic()) {
    return fmt::format("a smaller MIN than {} in --nnodes lets the job go on with fewer {}",
                       job.min_nodes, nodes_word(job));
  }
  if (job.nnodes == 1) {
    return "look for what ended toprun there, such as the out-of-memory killer (dmesg) or the "
           "scheduler";
  }
  const std::string fewer = fmt::format("--nnodes {}:{} lets the job go on with fewer {}",
                                        job.nnodes - 1, job.nnodes, nodes_word(job));
  if (!job.each_node_comes_once()) {
    return fmt::format(
        "{}; --max-restarts N lets the job wait for a node that replaces the lost node", fewer);
  }
  // With restarts left, only a node was lacking.
  if (job.has_spares() && attempt < job.options.max_restarts) {
    const std::size_t all = job.place.nodes.size();
    const std::size_t spares = all - static_cast<std::size_t>(job.nnodes);
    return fmt::format(
        "{}; or give more than {} {}: {} already in use or lost", fewer, all, nodes_word(job),
        spares == 1 ? std::string("the only spare is") : fmt::format("the {} spares are", spares));
  }
  if (job.has_spares()) {
    return fmt::format(
        "{}; a larger --max-restarts (now {}) lets a spare that is left replace a lost one", fewer,
        job.options.max_restarts);
  }
  const std::string_view word = nodes_word(job);
  return fmt::format("{}. {} with --nnodes {}{} keeps a spare {}, which replaces a lost one", fewer,
                     one_node_more(job), job.nnodes, lacks_restarts ? " and --max-restarts 1" : "",
                     word.substr(0, word.size() - 1));
}

// Of a loss, which report::failure_report() has no advice for.
std::string next_after_loss(const plan::Job& job, const run::AttemptCourse& attempt,
                            const model::Cause& cause, Follows follows) {
  const bool is_loss =
      cause.kind == model::CauseKind::node_lost || cause.kind == model::CauseKind::agent_lost;
  if (!is_loss) return {};
  if (cause.node.empty()) return "look at the network of the root's host first";
  if (follows == Follows::nothing) return advice_on_loss(job, attempt.number);
  std::set<std::string> hosts;
  for (const model::NodeRecord& node : attempt.nodes) hosts.insert(node.name.raw());
  // The verdict does not know which of the two is at fault if the lost one was silent.
  if (cause.kind == model::CauseKind::node_lost && hosts.size() == 2) {
    return fmt::format(
        "the job goes on; look at {} before another job uses them (toprun doctor on each host)",
        hosts::short_list({hosts.begin(), hosts.end()}));
  }
  return fmt::format(
      "the job goes on; look at {} before another job uses it (toprun doctor on that host)",
      cause.node);
}

// Of a signal that no user sends with a key.
std::string next_after_signal(const plan::Job& job, const model::Cause& cause, int exit_code) {
  constexpr int code_of_a_signal = 128;
  const int signal = exit_code - code_of_a_signal;
  const bool is_from_outside =
      cause.kind == model::CauseKind::interrupted && (signal == SIGTERM || signal == SIGHUP);
  if (!is_from_outside) return {};
  if (const auto id = engines::slurm::own_job_id(job.environment)) {
    return fmt::format("toprun status {} shows whether a user cancelled the job", *id);
  }
  if (job.place.engine == engines::EngineKind::mpi) {
    return "mpirun probably ended this agent, because mpirun was interrupted (Ctrl-C) or another "
           "of "
           "its processes failed: see mpirun's own message";
  }
  return signal == SIGHUP
             ? "SIGHUP mostly comes from a closed terminal: nohup, tmux and toprun submit keep a "
               "job "
               "alive without one"
             : "look for what sent SIGTERM, such as kill, timeout or a script; toprun itself did "
               "not send it";
}

// Open MPI does not pass the shell's variables to other hosts by itself (mpirun(1), -x).
std::string next_under_mpirun(const plan::Job& job, const model::Cause& cause) {
  if (job.place.engine != engines::EngineKind::mpi) return {};
  if (!cause.message.raw().contains("No module named 'torch'")) return {};
  return "Open MPI's mpirun passes an activated environment to every host with -x VIRTUAL_ENV (or "
         "-x CONDA_PREFIX), and PYTHON_EXEC with -x PYTHON_EXEC";
}

std::pair<model::CauseKind, int> end_of(engines::Stop::Reason reason) {
  using Reason = engines::Stop::Reason;
  using model::CauseKind;
  switch (reason) {
    case Reason::preemption:
      return {CauseKind::preempted, exit_preempted};
    case Reason::requeue:
      return {CauseKind::requeued, exit_preempted};
    case Reason::time_limit:
      return {CauseKind::time_limit, engines::exit_time_limit};
  }
  return {CauseKind::interrupted, exit_failure};
}

// The file with the output of the node at fault. If no single node is at fault, the folder that
// contains every node's file.
std::string node_log_of(const plan::Options& options, const model::Cause& cause) {
  const auto path = node_log_path(options, cause.node.raw());
  if (!path || !cause.node.empty()) return path.value_or("");
  return std::filesystem::path(*path).parent_path().string() + "/ (a file for each node)";
}

}  // namespace

run::EngineAnswered why_stopped(const Environment& environment) {
  auto stop = engines::why_stopped(environment);
  if (!stop) return {};
  const auto [kind, exit_code] = end_of(stop->reason);
  return {run::EngineAnswered::Stop{kind, exit_code, std::move(stop->words)}};
}

std::string next_step(const plan::Job& job, const run::AttemptCourse& attempt,
                      const model::Cause& cause, Follows follows) {
  const std::string of_signal = next_after_signal(job, cause, attempt.verdict.exit_code);
  // A report of a Slurm job is mostly read by `toprun status ID`, which that advice would name.
  if (!of_signal.empty()) {
    return engines::slurm::own_job_id(job.environment) ? std::string() : of_signal;
  }
  const bool has_logs = job.options.log_dir || job.options.node_log;
  std::string of_failure = report::advice(cause, has_logs);
  if (const std::string more = next_under_mpirun(job, cause); !more.empty()) {
    of_failure += fmt::format("; {}", more);
  }
  return of_failure.empty() ? next_after_loss(job, attempt, cause, follows) : of_failure;
}

std::string summary(const plan::Job& job, const run::Course& course) {
  return report::last_line(publish::record_of(job, course));
}

void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt, Follows follows) {
  const run::Verdict& verdict = attempt.verdict;
  auto cause = publish::cause_in(verdict);
  if (!cause) return;
  // The report has said at length what hangs when it was noticed.
  const bool is_reported = cause->kind == model::CauseKind::hang;
  const bool has_block = is_reported || cause->kind == model::CauseKind::node_lost;
  if (cause->node.empty() && !cause->rank && !has_block) {
    const std::string next = next_after_signal(job, *cause, verdict.exit_code);
    return say(next.empty() ? cause->message.shown() : fmt::format("{}; {}", cause->message, next));
  }
  const model::WorkerExit* exit = nullptr;
  for (const model::WorkerExit& one : verdict.exits) {
    if (cause->rank == one.rank) exit = &one;
  }
  if (!job.options.log_dir) cause->error_file.clear();  // deleted with the run
  std::string next = next_after_loss(job, attempt, *cause, follows);
  if (next.empty()) next = next_under_mpirun(job, *cause);
  say_block(report::failure_report(*cause, report::count_others(verdict.exits, exit),
                                   kept_log(job.options, attempt, *cause),
                                   style_of_stderr(job.environment),
                                   node_log_of(job.options, *cause)) +
            (next.empty() ? "" : fmt::format("  next        {}\n", next)));
}

}  // namespace toprun::agent
