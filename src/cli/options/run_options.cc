#include "cli/options/run_options.h"

#include <algorithm>

#include "cli/options/call.h"
#include "cli/options/command_lines.h"
#include "cli/options/container_options.h"
#include "cli/options/rendezvous_settings.h"
#include "cli/options/run_draft.h"

namespace toprun::options {
namespace {

using plan::Options;
using plan::Setting;

// A note for a flag that is accepted without effect, if the user should know.
std::optional<std::string> note_on(const Flag& flag, const Argument& argument) {
  if (flag.group != Group::without_effect || argument.value == flag.default_value) {
    return std::nullopt;
  }
  return fmt::format("{} has no effect: {}", flag.is_switch() ? argument.source : argument.label(),
                     flag.help);
}

Result<void> check_activation(const plan::Activation& activation) {
  if (activation.venv.empty() || activation.conda.empty()) return {};
  return usage("--venv and --conda", "a program runs in one environment", "give only one of them");
}

Result<void> check_stage(const Options& options) {
  if (options.stage.empty() || options.container.empty()) return {};
  return usage("--stage and --container",
               "ranks in a container use the environment in the image, so they would not use the "
               "copy of --stage",
               "give only one of them");
}

Options defaults(const Split& split, const std::vector<std::string>& argv) {
  Options options;
  if (split.called_torchrun()) {
    options.nproc_per_node.value = "1";
    options.grow = run::Grow::now;
  }
  options.rdzv_backend.value = "static";
  options.rdzv_id.value = "none";
  options.command_line = argv;
  options.called_torchrun = split.called_torchrun();
  options.verbose = static_cast<int>(
      std::ranges::count(split.options, &flag_of(FlagId::verbose), &ParsedOption::flag));
  return options;
}

std::vector<std::string> option_variables(const Environment& environment) {
  std::vector<std::string> names;
  for (const Flag& flag : all_flags()) {
    if (!knows(Command::run, flag) || flag.variable.empty()) continue;
    if (environment.has(flag.variable)) names.emplace_back(flag.variable);
  }
  return names;
}

Result<void> set_program(RunDraft& draft, const Split& split) {
  Options& options = draft.options;
  if (!split.script || split.script->empty()) {
    return usage("no script given", {}, full_name(line_of(split.command)) + " -h shows the usage");
  }
  options.script = *split.script;
  options.arguments = split.arguments;
  if (draft.run_path) return {};
  if (draft.module && draft.no_python) {
    return usage("-m and --no-python contradict each other", {}, "give only one of them");
  }
  if (draft.module) options.program = plan::Program::module;
  if (draft.no_python) options.program = plan::Program::executable;
  return {};
}

Result<void> apply_standalone(RunDraft& draft) {
  Options& options = draft.options;
  if (!options.standalone) return {};
  if (const auto nodes = options.nnodes.value; nodes && *nodes > 1) {
    return usage(fmt::format("{} is for one node, but {} says {}", draft.standalone_source,
                             options.nnodes.source, *nodes),
                 {}, "drop " + draft.standalone_source);
  }
  options.node_rank = {};
  options.node_index = {};
  options.master_addr = {};
  options.master_port = {};
  options.rdzv_endpoint = {};
  options.rdzv_backend.value = "c10d";
  options.rdzv_backend.source = "--standalone";
  return {};
}

// The backend's own, which may come after them on the command line.
Result<void> set_rendezvous(RunDraft& draft) {
  if (!draft.rendezvous_settings) return {};
  auto settings =
      TRY(parse_rendezvous_settings(*draft.rendezvous_settings, draft.options.rdzv_backend.value));
  draft.options.rdzv_conf = std::move(settings.known);
  if (!settings.note.empty()) draft.notes.push_back(std::move(settings.note));
  return {};
}

// As torchrun does: without log files, the streams are not redirected.
void drop_unkept_redirects(RunDraft& draft) {
  Options& options = draft.options;
  if (!draft.keeps_no_logs || options.redirects.empty()) return;
  options.redirects = {};
  draft.notes.push_back(
      fmt::format("--redirects has no effect: --log-dir {} keeps no files", null_device));
}

Result<void> set_plan(Options& options, const PlanOptions& argument) {
  auto plan = parse_order_plan(argument);
  if (!plan) return std::unexpected(std::move(plan.error()));
  const bool by_topology =
      options.order == plan::Order::automatic || options.order == plan::Order::topology;
  if (*plan && !by_topology) {
    return usage("--order and --parallel", "both decide the order of the nodes",
                 "leave one of them out, or use --order topology");
  }
  if (*plan && options.segment > 1) {
    return usage("--segment and --parallel", "both decide which nodes are neighbours",
                 "leave one of them out");
  }
  options.plan = *std::move(plan);
  return {};
}

// The settings come from accelerate's own code, run by the ranks' Python on the nodes where toprun
// starts the ranks.
Result<void> check_accelerate(const Options& options) {
  if (options.accelerate_config.empty()) return {};
  const std::string hint = "give the settings by -e instead, as -e ACCELERATE_MIXED_PRECISION=bf16";
  if (!options.container.empty()) {
    return usage("--accelerate-config", "toprun cannot run accelerate inside the container", hint);
  }
  if (options.launcher.is_set()) {
    return usage("--accelerate-config",
                 "it cannot be used with --launcher: mpirun starts the ranks, not accelerate",
                 hint);
  }
  return {};
}

Result<void> check_pods(const Options& options) {
  if (!options.in_job.is_set()) {
    if (!options.detach) return {};
    return usage("--detach", "without --in, the run's output would be lost",
                 "give --in JOB, or use toprun submit");
  }
  const auto on_command_line = [](const std::string& source) { return source.starts_with('-'); };
  for (const auto& [name, is_given] : {std::pair{"--hosts", on_command_line(options.hosts.source)},
                                       {"--hostfile", on_command_line(options.host_file.source)},
                                       {"--via", !options.via.value.empty()},
                                       {"--launcher", !options.launcher.value.empty()},
                                       {"--container", !options.container.empty()}}) {
    if (!is_given) continue;
    return usage(fmt::format("--in with {}", name),
                 "with --in, the script runs in the pods of a job", "leave one of them out");
  }
  return {};
}

// An option on the command line overrides the other option's variable.
Result<void> choose_hosts(Options& options) {
  if (!options.hosts.is_set() || !options.host_file.is_set()) return {};
  const bool file_is_meant = options.host_file.source.starts_with('-');
  if (options.hosts.source.starts_with('-') == file_is_meant) {
    return usage(fmt::format("{} and {}", options.hosts.source, options.host_file.source),
                 "both name the hosts", "give only one of them");
  }
  const Setting<std::string> unset;  // named, because g++ 12 leaves the members of `= {}` empty
  (file_is_meant ? options.hosts : options.host_file) = unset;
  return {};
}

Result<void> check_launcher(Options& options) {
  const std::string& ranks = options.nproc_per_node.source;
  if (options.launcher.value.empty()) {
    if (ranks != "--ranks-per-node" && ranks != "TOPRUN_RANKS_PER_NODE") return {};
    return usage(ranks, "this option is only for --launcher mpirun", "use --nproc-per-node");
  }
  if (options.max_restarts > 0) {
    return usage("--max-restarts with --launcher mpirun",
                 "mpirun starts the ranks and cannot restart them",
                 "let the engine requeue the job, or drop --launcher");
  }
  if (options.via.value.empty()) return {};
  return usage("--via and --launcher",
               "they cannot be combined, because each starts the programs on the nodes",
               "give only one of them");
}

Result<void> check_node_rank(const Options& options) {
  const auto nodes = options.nnodes.value;
  const auto rank = options.node_rank.value;
  if (!nodes || !rank || *rank < *nodes || plan::node_rank_is_a_hint(options)) return {};
  return usage(fmt::format("--node-rank {}", *rank),
               fmt::format("{} says {} nodes, so the node rank must be from 0 to {}",
                           options.nnodes.source, *nodes, *nodes - 1));
}

// If the kernel chooses a port on one node, the other nodes do not know it.
Result<void> check_ports(const Options& options) {
  if (options.nnodes.value.value_or(1) == 1) return {};
  const auto& endpoint = options.rdzv_endpoint;
  if (endpoint.value && endpoint.value->port == 0) {
    return usage(endpoint.source + ": port 0 is for one node only", {}, "choose a port");
  }
  if (options.master_port.value == 0) {
    return usage(options.master_port.source + ": port 0 is for one node only", {}, "choose a port");
  }
  return {};
}

// Skips the container options, because together they may have no effect (container_options.h).
Result<void> fill(RunDraft& draft, const Split& split, const Environment& environment) {
  for (const Flag& flag : all_flags()) {
    if (flag.group == Group::container || !knows(Command::run, flag)) continue;
    for (const Argument& argument : all_arguments(flag, split, environment)) {
      auto done = flag.set == nullptr ? Result<void>() : flag.set(draft, flag, argument);
      if (!done) return done;
      if (auto note = note_on(flag, argument)) draft.notes.push_back(std::move(*note));
    }
  }
  return {};
}

// What changes nothing without another option.
void note_what_is_idle(RunDraft& draft) {
  const Options& options = draft.options;
  if (options.on_hang != run::OnHang::report && !options.hang_timeout) {
    draft.notes.push_back("--on-hang has no effect without --hang-timeout");
  }
  if (options.on_hang == run::OnHang::restart && options.hang_timeout &&
      options.max_restarts == 0) {
    draft.notes.push_back(
        "--on-hang restart restarts nothing without --max-restarts N: the job ends at a hang");
  }
  if (options.stage_to && options.stage.empty()) {
    draft.notes.push_back("--stage-to has no effect without --stage");
  }
}

}  // namespace

Result<RunOptions> run_options(const Split& split, const std::vector<std::string>& argv,
                               const Environment& environment, const IsFile& is_file) {
  RunDraft draft{.options = defaults(split, argv), .is_file = is_file};
  TRY(fill(draft, split, environment));
  Options& options = draft.options;
  drop_unkept_redirects(draft);
  note_what_is_idle(draft);
  options.option_variables = option_variables(environment);
  options.container = TRY(container_options(split, environment, draft.notes));

  TRY(set_program(draft, split));
  TRY(check_activation(options.activation));
  TRY(check_stage(options));
  TRY(apply_standalone(draft));
  TRY(set_rendezvous(draft));
  TRY(check_accelerate(options));
  TRY(set_plan(options, draft.plan));
  TRY(choose_hosts(options));
  TRY(check_launcher(options));
  TRY(check_pods(options));
  TRY(check_node_rank(options));
  TRY(check_ports(options));
  return RunOptions{std::move(options), std::move(draft.notes)};
}

Result<plan::Activation> activation_options(const Split& split, const Environment& environment) {
  RunDraft draft;
  for (const FlagId id :
       {FlagId::before, FlagId::conda, FlagId::venv, FlagId::modules, FlagId::env}) {
    const Flag& flag = flag_of(id);
    for (const Argument& argument : all_arguments(flag, split, environment)) {
      TRY(flag.set(draft, flag, argument));
    }
  }
  TRY(check_activation(draft.options.activation));
  return std::move(draft.options.activation);
}

}  // namespace toprun::options
