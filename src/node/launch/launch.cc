#include "node/launch/launch.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/login/login.h"
#include "node/agent/agent_process.h"
#include "node/agent/received_signals.h"
#include "node/agent/streams.h"
#include "node/launch/login_step.h"
#include "node/launch/mpi_ranks.h"
#include "node/launch/step.h"
#include "node/plan/container_plan.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"
#include "node/worker/keeper.h"

namespace toprun::launch {
namespace {

using engines::Stance;

std::string_view words_for(Stance stance) {
  switch (stance) {
    case Stance::single:
      return "the only agent, all ranks are here";
    case Stance::agent:
      return "the agent of this node";
    case Stance::in_place:
      return "one rank of several that the engine started";
    case Stance::starter:
      return "starts one agent per node";
  }
  return "";
}

std::string node_list(const plan::Job& job) {
  std::vector<std::string> names;
  for (const engines::Node& node : job.place.nodes) names.push_back(node.name);
  if (names.empty()) return "";
  const bool are_more = names.size() > static_cast<std::size_t>(job.nnodes);
  return (are_more ? " of " : " ") + hosts::compress_hostlist(names);
}

// What each host behind a login will count for itself.
std::string processes_by_login(const plan::Job& job) {
  const plan::Options& options = job.options;
  if (const auto& requested = options.nproc_per_node; requested.is_set()) {
    return parse_int(requested.value)
               ? fmt::format("{} per node ({})", requested.value, requested.source)
               : fmt::format("{} {}, counted on each node", requested.source, requested.value);
  }
  if (options.called_torchrun) return "1 per node (torchrun's default)";
  std::map<int, std::vector<std::string>> listed;  // hosts by their number of processes
  std::size_t others = job.place.nodes.size();
  for (const engines::Node& node : job.place.nodes) {
    if (!node.slots) continue;
    listed[*node.slots].push_back(node.name);
    --others;
  }
  std::vector<std::string> parts;
  for (const auto& [count, names] : listed) {
    parts.push_back(fmt::format("{} on {}", count, hosts::compress_hostlist(names)));
  }
  if (!parts.empty()) parts.back() += " (the list of hosts)";
  if (others > 0) {
    parts.push_back(fmt::format("{}one per GPU of the node, or one if the node has no GPU",
                                parts.empty() ? "" : "else "));
  }
  return join(parts, ", ");
}

// A longer word of a login's command is the shell script that starts the agent there.
constexpr std::size_t longest_shown_word = 500;
constexpr std::string_view script_word = "SCRIPT";

// Puts SCRIPT instead of the script. Returns the size of the script; 0 if the line has none.
std::size_t shorten(std::vector<std::string>& argv) {
  if (argv.empty() || argv.back().size() <= longest_shown_word) return 0;
  const std::size_t size = argv.back().size();
  argv.back() = script_word;
  return size;
}

template <class Line>
Result<void> describe_logins(const plan::Job& job, const Line& line) {
  auto commands = TRY(login_commands(job));
  std::size_t script_bytes = 0;
  for (LoginCommands::One& one : commands.hosts) {
    const std::string marker = one.here ? "TOPRUN_STEP=login " : "";
    if (job.options.verbose == 0) script_bytes = std::max(script_bytes, shorten(one.argv));
    line("agents", marker + shown_command(one.argv) + " <<< ORDERS");
  }
  if (script_bytes > 0) {
    line(script_word, fmt::format("a shell script of {} bytes, which finds toprun on the host or "
                                  "receives it, and starts the agent; -v shows the script",
                                  script_bytes));
  }
  line("ORDERS", login_orders_text(job));
  return {};
}

// mpirun gives its agents a job, and the job a port, which is unknown before.
bool follows_mpirun(const plan::Job& job) {
  const auto& endpoint = job.options.rdzv_endpoint.value;
  const bool is_asked = job.options.master_port.value || (endpoint && endpoint->port);
  return job.place.engine == engines::EngineKind::mpi && job.place.stance == Stance::starter &&
         !is_asked;
}

// Several hosts may be the root's until the agents look for it; rank 0 knows that it is the root.
std::string root_text(const plan::Job& job) {
  const int port = job.ports.front();
  if (job.other_root_hosts.empty()) return fmt::format("{}:{}", job.root_host, port);
  if (job.is_root == true) return fmt::format("{}:{}", job.place.node_name, port);
  return fmt::format("the host of rank 0, port {}; at the start toprun looks for it on {}, {}",
                     port, job.root_host, join(job.other_root_hosts, ", "));
}

// Whether the kind of job and this process's number are to be seen even without -v.
bool is_one_of_several(const plan::Job& job) {
  return job.place.stance == Stance::agent || job.environment.has("KUBERNETES_SERVICE_HOST");
}

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
  unfinished_in_copy() = agent::ends_within_line(*path);
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

Result<std::string> describe(const plan::Job& job) {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12} {}\n", label, value);
  };
  const bool starts_ranks =
      job.place.stance == Stance::starter && !job.options.launcher.value.empty();
  line("engine", fmt::format("{}: {}", name_of(job.place.engine),
                             starts_ranks ? "mpirun starts every rank, without agents"
                                          : words_for(job.place.stance)));
  if (job.options.verbose > 0 || is_one_of_several(job)) {
    for (const std::string& reason : job.place.reasons) line("detected", reason);
  }
  if (!job.options.activation.before.empty()) {
    line("before", job.options.activation.before + " (bash runs this on every node; not run now)");
  }
  line("nodes", fmt::format("{}{} ({})", job.nnodes, node_list(job), job.nnodes_source));
  if (job.starts_by_login()) {
    line("processes", processes_by_login(job));
    TRY(describe_logins(job, line));
    return text;
  }
  line("processes", fmt::format("{} per node ({})", job.nproc, job.nproc_source));
  if (!job.options.launcher.value.empty()) {
    const auto ranks = TRY(mpi_ranks(job));
    line("ranks", shown_command(ranks.argv));
    line(host_file_word, join(ranks.hosts, " "));
    return text;
  }
  const int port = job.ports.front();
  if (follows_mpirun(job)) {
    line("root", job.root_host + ", at a port that toprun computes from mpirun's job");
  } else if (port != 0 && (job.several_processes() || job.place.stance == Stance::starter)) {
    line("root", root_text(job));
  }
  if (job.in_container()) {
    const auto plan = plan::plan_container(job, "FOLDER");
    if (!plan) return std::unexpected(plan.error());
    const auto creation = plan->runtime->creation(plan->run, plan->node, job.environment);
    for (const container::Command& command : creation) {
      line("if missing", shown_command(command.argv));
    }
    line("container", shown_command(plan->command.argv));
    const std::string note = plan::python_exec_note(job.options, job.environment);
    if (!note.empty()) line("python", note);
  } else {
    line("program", fmt::format("{} ({})", job.program.front(), job.program_reason));
  }
  if (!job.options.accelerate_config.empty()) {
    line("settings",
         "of " + job.options.accelerate_config + ", as accelerate reads it on each node");
  }
  if (job.place.stance == Stance::starter) {
    const auto command = TRY(step_command(job));
    line("agents", shown_command(command.argv) + " (the secret goes to its standard input)");
  }
  if (!job.in_container()) line("each worker", shown_command(job.program));
  if (job.options.prefetch) {
    line("prefetch", fmt::format("each node first reads the files that importing {} reads",
                                 join(*job.options.prefetch, ", ")));
  }
  if (job.stages()) {
    line("environment",
         fmt::format("{}, copied from the root's node to the other nodes", job.options.stage));
  }
  if (job.options.warm) {
    line("warm start", fmt::format("each rank is a fork of one Python process per node, which has "
                                   "imported {} and the script's first imports",
                                   join(*job.options.warm, ", ")));
  }
  return text;
}

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
