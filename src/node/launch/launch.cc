#include "node/launch/launch.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <utility>

#include "base/os/console.h"
#include "base/os/console_copy.h"
#include "base/os/print.h"
#include "base/text/secrets.h"
#include "engines/engine.h"
#include "engines/login/login.h"
#include "node/agent/agent_process.h"
#include "node/agent/node_log.h"
#include "node/agent/notice.h"
#include "node/launch/login_step.h"
#include "node/launch/mpi_ranks.h"
#include "node/launch/step.h"
#include "node/plan/container_plan.h"
#include "node/plan/job.h"
#include "node/plan/kept_run.h"
#include "node/plan/orders.h"
#include "node/worker/keeper.h"

namespace toprun::launch {
namespace {

int show(const Result<std::string>& text) {
  if (!text) return give_up(text.error());
  std::fputs(text->c_str(), stdout);
  return 0;
}

void say_notes(const plan::Job& job) {
  for (const std::string& note : job.place.notes) say(note);
}

void tell_the_place(const plan::Job& job) {
  say_notes(job);
  if (job.options.verbose == 0) return;
  for (const std::string& reason : job.place.reasons) say(reason);
  if (job.starts_by_login() || job.unfit) return;  // its agents say what they found
  if (const auto note = plan::python_exec_note(job.options, job.environment); !note.empty())
    say(note);
  say(fmt::format("nodes: {} ({}); processes here: {} ({}); program: {}", job.nnodes,
                  job.nnodes_source, job.nproc, job.nproc_source,
                  job.in_container()
                      ? "in a container of " + job.options.container.image
                      : fmt::format("{} ({})", job.program.front(), job.program_reason)));
}

// If there are other nodes, they report first that this one no longer answers.
std::chrono::milliseconds keeper_patience(const plan::Job& job) {
  return job.patience.silence +
         (job.several_processes() ? 2 * job.keeper_beat : std::chrono::milliseconds(0));
}

// From here on toprun's own lines stand in the node's log too. The descriptor stays open to the end
// of the process, and of the agent's that is forked from it.
void copy_own_lines(const plan::Job& job) {
  const auto path = agent::node_log_path(job.options, job.place.node_name);
  if (!path) return;
  auto file = agent::open_node_log(*path);
  if (!file) return say(file.error().line());
  say_also_to(file->release());
}

// Our starter's srun ends with the highest exit code of its tasks. That has to be the root's, also
// where an elastic job went on without one of the others.
bool may_be_lost(const plan::Job& job) {
  return job.place.started_by_toprun && job.goes_on_without_a_node() && !job.is_root.value_or(true);
}

// Signals that the user names are passed on even where toprun was started with them ignored, as a
// shell without job control starts `toprun … &`; the ranks then begin with their default, too.
std::vector<int> named_signals(const plan::Options& options) {
  const auto& signals = options.signals_to_handle;
  return signals.is_set() ? signals.value : std::vector<int>();
}

// What the keeper lets pass of the signals to it. An engine may have signalled every process, so
// that the ranks have a notice already; and it says the end of a job several times: Slurm (22.05)
// by itself and by srun, at the beginning of a grace and at its end. That is not a second Ctrl-C.
worker::SignalFilter concerns_agent(const plan::Options& options, const Environment& environment) {
  return [&, ended = false](int signal, pid_t sender) mutable {
    if (!engines::is_of_an_engine(sender)) return true;
    if (signal == run::grow_signal) return true;
    if (agent::is_notice(signal, options)) return !engines::signals_every_process(environment);
    return signal == SIGCONT || signal == SIGTSTP || !std::exchange(ended, true);
  };
}

// Joins instead of an agent that died before the others knew it, to report that.
int tell_others(const plan::Job& job, const plan::Orders& orders, const std::string& death) {
  ::sigprocmask(SIG_SETMASK, &job.inherited.mask, nullptr);  // keep() has blocked what ends us
  plan::Job rest = job;
  rest.unfit = Error{death, {}, {}, exit_failure};
  return agent::run_agent(rest, orders, -1);
}

// Waits; false: a signal, which keep() has blocked, tells this process to end.
bool pause(std::chrono::milliseconds time) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&ends, signal);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec limit{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
  return ::sigtimedwait(&ends, nullptr, &limit) < 0;
}

int be_agent(const plan::Job& job, const Environment& environment) {
  leave_no_core_file();  // ranks get the limit back that was inherited
  if (const auto left = plan::leave_login(); !left) return give_up(left.error());
  if (engines::is_login_agent(environment) && job.place.hears_launcher) {
    say_block(engines::login_joins);
  }
  copy_own_lines(job);
  const auto orders = plan::receive_orders(job);
  if (!orders) return give_up(orders.error());
  // An engine that has started each rank keeps watch over it; without ranks there is nothing to.
  const bool unkept = job.place.stance == engines::Stance::in_place || job.unfit;
  if (unkept) return agent::run_agent(job, *orders, -1);
  std::vector<int> passed_on = named_signals(job.options);
  passed_on.push_back(run::grow_signal);
  int exit_code =
      worker::keep([&](int heartbeat_fd) { return agent::run_agent(job, *orders, heartbeat_fd); },
                   keeper_patience(job), passed_on, concerns_agent(job.options, environment));
  const std::string death = worker::death_before_joining();
  if (!death.empty() && job.others_come()) exit_code = tell_others(job, *orders, death);
  if (!may_be_lost(job)) return exit_code;
  if (worker::agent_reported_of_silence()) engines::requeue_orphaned(environment, pause);
  return 0;
}

int carry_out(const plan::Job& job, const Environment& environment) {
  switch (job.place.stance) {
    case engines::Stance::starter:
      if (!job.options.launcher.value.empty()) return run_mpi_ranks(job);
      return job.starts_by_login() ? run_login_step(job) : run_step(job);
    case engines::Stance::in_place:
    case engines::Stance::single:
    case engines::Stance::agent:
      return be_agent(job, environment);
  }
  return exit_failure;
}

}  // namespace

// The story of a launch. What stands here is what one process knows by itself; where several meet,
// it goes on in agent_process.cc: join, locate, order, serve, assign, run, end.
int launch(const plan::Options& options, const Environment& environment) {
  if (environment.has(contained_rank_variable)) return become_contained(options, environment);
  spawn::Inherited inherited = spawn::Inherited::capture();
  for (const int signal : named_signals(options)) {
    inherited.ignored.reset(static_cast<std::size_t>(signal));
  }
  auto job = plan::prepare(options, environment, inherited);
  if (!job) return give_up(job.error());
  if (options.dry_run) {
    say_notes(*job);
    return show(describe(*job));
  }
  if (auto kept = agent::keep_redirected(*job); !kept) return give_up(kept.error());
  tell_the_place(*job);
  const int exit_code = carry_out(*job, environment);
  if (exit_code == exit_preempted) engines::put_back(environment);
  return exit_code;
}

}  // namespace toprun::launch
