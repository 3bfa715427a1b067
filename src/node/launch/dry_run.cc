#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/net/hostlist.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "node/launch/launch.h"
#include "node/launch/login_step.h"
#include "node/launch/mpi_ranks.h"
#include "node/launch/step.h"
#include "node/plan/container_plan.h"

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

}  // namespace

Result<std::string> describe(const plan::Job& job) {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12} {}\n", label, value);
  };
  line("engine", fmt::format("{}: {}", name_of(job.place.engine), words_for(job.place.stance)));
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
    line("root", fmt::format("{}:{}", job.root_host, port));
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
    line("agents", shown_command(command.argv) + " <<< 'secret <secret>'");
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

}  // namespace toprun::launch
