#include "options/run_options.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "options/container_options.h"
#include "options/given.h"
#include "options/plan_options.h"
#include "options/values.h"
#include "scheduler/slots.h"
#include "topology/file.h"
#include "topology/source.h"

namespace toprun::options {
namespace {

using plan::Options;
using plan::Setting;

constexpr int max_shutdown_s = 7 * 24 * 3600;  // agents tell each other milliseconds

// Stores what a parser of values.h made of `given`.
template <class T, class U>
Result<void> store(U& target, Result<T> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  target = std::move(*parsed);
  return {};
}

Result<void> store_count(std::size_t& target, const Result<int>& parsed) {
  if (!parsed) return std::unexpected(parsed.error());
  target = static_cast<std::size_t>(*parsed);
  return {};
}

template <class T, class U>
Result<void> store(Setting<T>& target, const Given& given, Result<U> parsed) {
  target.source = given.source;
  return store(target.value, std::move(parsed));
}

Result<std::string> text_of(const Given& given) {
  if (!given.value.empty()) return given.value;
  return usage(given.label(), "must not be empty");
}

Result<void> set_order(Options& options, const Given& given) {
  const auto choice = parse_order(given);
  if (!choice) return std::unexpected(choice.error());
  options.order = choice->order;
  options.order_file = choice->file;
  return {};
}

Result<void> set_topology(Options& options, const Given& given, const IsFile& is_file) {
  const std::string path = topology::topology_file(given.value).path;
  const bool is_pipe = path == "-" || path.starts_with("/dev/");
  if (!topology::names_source(given.value) && is_pipe) {
    return usage(given.label(),
                 "a launch reads it on the node that orders the others, not only once",
                 "save it in a file");
  }
  if (!topology::names_source(given.value) && !is_file(path)) {
    return usage(given.label(), "no such file, and no such source of topology",
                 fmt::format("the sources are {}", fmt::join(topology::source_names(), ", ")));
  }
  options.topology = given.value;
  return {};
}

Result<void> set_nodes(Options& options, const Given& given) {
  const auto count = parse_node_count(given);
  if (!count) return std::unexpected(count.error());
  options.nnodes = {count->most, given.source};
  if (count->least < count->most) options.min_nodes = count->least;
  return {};
}

Result<void> set_shutdown_timeout(Options& options, const Given& given) {
  const auto seconds = parse_number(given, 0, max_shutdown_s);
  if (!seconds) return std::unexpected(seconds.error());
  options.shutdown_timeout = std::chrono::seconds(*seconds);
  return {};
}

Result<void> set_preflight(Options& options, const Given& given) {
  const auto off = parse_switch(given);
  if (!off) return std::unexpected(off.error());
  options.preflight = !*off;
  return {};
}

Result<void> set_node_rank(Options& options, const Given& given) {
  auto& target = given.from_variable ? options.node_index : options.node_rank;
  return store(target, given, parse_number(given, 0, max_nodes - 1));
}

// Nothing in quotes means not given, as scripts with unset variables have it.
Result<void> set_ranks_per_node(Options& options, const Given& given) {
  const auto count = parse_number(given, 1, scheduler::max_slots);
  if (!count) return std::unexpected(count.error());
  options.nproc_per_node = {fmt::to_string(*count), given.source};
  return {};
}

void set_rendezvous_id(Options& options, const Given& given) {
  if (!given.value.empty()) options.rdzv_id = {given.value, given.source};
}

Result<void> set_endpoint(Options& options, const Given& given) {
  if (given.value.empty()) return {};
  return store(options.rdzv_endpoint, given, parse_endpoint(given));
}

Result<void> set_local_addr(Options& options, const Given& given) {
  if (given.value.empty()) return {};
  return store(options.local_addr, parse_host(given));
}

Result<void> set_local_ranks_filter(Options& options, const Given& given) {
  if (given.value.empty()) return {};
  return store(options.local_ranks_filter, parse_local_ranks(given));
}

Result<run::Grow> parse_grow(const Given& given) {
  const auto chosen = parse_choice(given, choices(flag_of(FlagId::grow)));
  if (!chosen) return std::unexpected(chosen.error());
  if (*chosen == "now") return run::Grow::now;
  return *chosen == "on-signal" ? run::Grow::on_signal : run::Grow::at_restart;
}

// For what has no effect: it may still be wrong.
Result<void> check_interval(const Given& given) {
  if (const auto seconds = parse_double(given.value); seconds && *seconds >= 0) return {};
  return usage(given.label(), "must be a number of seconds");
}

Result<void> check_choice(const Given& given, FlagId flag) {
  const auto chosen = parse_choice(given, choices(flag_of(flag)));
  if (!chosen) return std::unexpected(chosen.error());
  return {};
}

Result<void> refuse_plugin(const Flag& flag, const Given& given) {
  return usage(given.label(), "names Python code for torchrun to load, which toprun does not do",
               fmt::format("leave it out: {}", flag.help));
}

// What is looked at only together with other options, or said.
struct Switches {
  bool module = false;
  bool no_python = false;
  bool run_path = false;
  std::string standalone_source;
  bool keeps_no_logs = false;
  PlanOptions plan;
  std::vector<std::string> notes;
};

Result<void> set_rendezvous_settings(Options& options, Switches& switches, const Given& given) {
  auto settings = parse_rendezvous_settings(given);
  if (!settings) return std::unexpected(std::move(settings.error()));
  options.rdzv_conf = std::move(settings->known);
  if (!settings->note.empty()) switches.notes.push_back(std::move(settings->note));
  return {};
}

// torchrun's own two are known; any other is a plug-in's.
Result<void> check_event_log_handler(const Flag& flag, const Given& given) {
  const auto own = choices(flag);
  return std::ranges::find(own, given.value) == own.end() ? refuse_plugin(flag, given)
                                                          : Result<void>();
}

Result<void> set_links(PlanOptions& plan, const Given& given) {
  auto text = text_of(given);
  if (!text) return std::unexpected(std::move(text.error()));
  plan.links.push_back(*std::move(text));
  return {};
}

Result<void> set(Options& options, Switches& switches, FlagId flag, const Given& given,
                 const IsFile& is_file) {
  switch (flag) {
    case FlagId::nnodes:
      return set_nodes(options, given);
    case FlagId::nproc_per_node:
      return store(options.nproc_per_node, given, parse_processes_per_node(given));
    case FlagId::hosts:
      return store(options.hosts, given, text_of(given));
    case FlagId::host_file:
      return store(options.host_file, given, text_of(given));
    case FlagId::node_rank:
      return set_node_rank(options, given);
    case FlagId::standalone:
      switches.standalone_source = given.source;
      return store(options.standalone, parse_switch(given));
    case FlagId::order:
      return set_order(options, given);
    case FlagId::topology:
      return set_topology(options, given, is_file);
    case FlagId::topology_required:
      return store(options.topology_required, parse_switch(given));
    case FlagId::segment:
      return store_count(options.segment, parse_number(given, 1, max_nodes));
    case FlagId::parallel:
      return store(switches.plan.parallel, text_of(given));
    case FlagId::model:
      return store(switches.plan.model, text_of(given));
    case FlagId::traffic:
      return store(switches.plan.traffic, text_of(given));
    case FlagId::link:
      return set_links(switches.plan, given);
    case FlagId::stable:
      return store(options.stable, parse_switch(given));
    case FlagId::ranks_in_place:
      return store(options.ranks_in_place, parse_switch(given));
    case FlagId::via:
      return store(options.via, given, parse_choice(given, choices(flag_of(flag))));
    case FlagId::launcher:
      return store(options.launcher, given, parse_choice(given, choices(flag_of(flag))));
    case FlagId::ranks_per_node:
      return set_ranks_per_node(options, given);
    case FlagId::master_addr:
      return store(options.master_addr, given, parse_host(given));
    case FlagId::master_port:
      return store(options.master_port, given, parse_number(given, 0, max_port));
    case FlagId::rdzv_backend:
      return store(options.rdzv_backend, given, parse_backend(given));
    case FlagId::rdzv_endpoint:
      return set_endpoint(options, given);
    case FlagId::rdzv_id:
      set_rendezvous_id(options, given);
      return {};
    case FlagId::rdzv_conf:
      return set_rendezvous_settings(options, switches, given);
    case FlagId::local_addr:
      return set_local_addr(options, given);
    case FlagId::module:
      return store(switches.module, parse_switch(given));
    case FlagId::no_python:
      return store(switches.no_python, parse_switch(given));
    case FlagId::max_restarts:
      return store(options.max_restarts, parse_number(given, 0, std::numeric_limits<int>::max()));
    case FlagId::grow:
      return store(options.grow, parse_grow(given));
    case FlagId::role:
      options.role = given.value;
      return {};
    case FlagId::redirects:
      return store(options.redirects, parse_streams(given));
    case FlagId::tee:
      return store(options.tee, parse_streams(given));
    case FlagId::log_dir:
      switches.keeps_no_logs = given.value == null_device;
      if (!given.value.empty() && !switches.keeps_no_logs) options.log_dir = given.value;
      return {};
    case FlagId::prefix:
      return store(options.prefix, parse_switch(given));
    case FlagId::report:
      return store(options.report, text_of(given));
    case FlagId::dry_run:
      options.dry_run = true;
      return {};
    case FlagId::run_path:
      return store(switches.run_path, parse_switch(given));
    case FlagId::virtual_local_rank:
      return store(options.virtual_local_rank, parse_switch(given));
    case FlagId::numa_binding:
      return store(options.numa_binding, parse_numa_binding(given));
    case FlagId::no_preflight:
      return set_preflight(options, given);
    case FlagId::signals_to_handle:
      return store(options.signals_to_handle, given, parse_signals(given));
    case FlagId::shutdown_timeout:
      return set_shutdown_timeout(options, given);
    case FlagId::log_line_prefix_template:
      return store(options.prefix_template, parse_prefix_template(given));
    case FlagId::local_ranks_filter:
      return set_local_ranks_filter(options, given);
    case FlagId::duplicate_stdout_filters:
      return store(options.duplicate_stdout_filters, parse_filters(given));
    case FlagId::duplicate_stderr_filters:
      return store(options.duplicate_stderr_filters, parse_filters(given));
    case FlagId::gather_output:
      return store(options.gather_output, parse_switch(given));
    case FlagId::fold:
      return store(options.fold, parse_switch(given));
    case FlagId::log_max_size:
      return store(options.log_max_bytes, parse_size(given));
    case FlagId::monitor_interval:
      return check_interval(given);
    case FlagId::start_method:
      return check_choice(given, flag);
    case FlagId::event_log_handler:
      return check_event_log_handler(flag_of(flag), given);
    case FlagId::logs_specs:
      return refuse_plugin(flag_of(flag), given);
    case FlagId::node_log:
      return store(options.node_log, text_of(given));
    case FlagId::before:
      return store(options.activation.before, text_of(given));
    case FlagId::venv:
      return store(options.activation.venv, text_of(given));
    case FlagId::conda:
      return store(options.activation.conda, text_of(given));
    case FlagId::accelerate_config:
      return store(options.accelerate_config, text_of(given));
    case FlagId::env:  // these two may be given several times, see set_activation()
    case FlagId::modules:
    case FlagId::container:  // these and the following are read together, see container_options.h
    case FlagId::container_environment:
    case FlagId::container_runtime:
    case FlagId::bind:
    case FlagId::container_workdir:
    case FlagId::container_env:
    case FlagId::container_name:
    case FlagId::container_root:
    case FlagId::writable:
    case FlagId::no_gpu:
    case FlagId::profile:  // these three have had their effect, see config.h
    case FlagId::config_file:
    case FlagId::no_config:
    case FlagId::verbose:  // counted, see defaults()
    case FlagId::use_env:
    case FlagId::help_short:  // these and the following end the reading, see cli/run.cc
    case FlagId::help:
    case FlagId::version:
    case FlagId::print_completion:
    default:  // no option of run
      return {};
  }
  return {};
}

// What a flag that we do not act upon deserves to have said, if anything.
std::optional<std::string> note_on(const Flag& flag, const Given& given) {
  if (flag.group != Group::without_effect || given.value == flag.default_value) {
    return std::nullopt;
  }
  return fmt::format("{} has no effect: {}", flag.is_switch() ? given.source : given.label(),
                     flag.help);
}

Result<void> set_activation(plan::Activation& activation, const Split& split,
                            const Environment& environment) {
  for (const Given& given : all_given(flag_of(FlagId::modules), split, environment)) {
    auto names = parse_modules(given);
    if (!names) return std::unexpected(std::move(names.error()));
    std::ranges::move(*names, std::back_inserter(activation.modules));
  }
  for (const Given& given : all_given(flag_of(FlagId::env), split, environment)) {
    auto variable = parse_variable(given);
    if (!variable) return std::unexpected(std::move(variable.error()));
    activation.variables.push_back(*std::move(variable));
  }
  if (activation.venv.empty() || activation.conda.empty()) return {};
  return usage("--venv and --conda", "a program runs in one environment", "give only one of them");
}

Options defaults(const Split& split, const std::vector<std::string>& argv) {
  Options options;
  if (split.called_torchrun) {
    options.nproc_per_node.value = "1";
    options.grow = run::Grow::now;
  }
  options.rdzv_backend.value = "static";
  options.rdzv_id.value = "none";
  options.command_line = argv;
  options.called_torchrun = split.called_torchrun;
  options.verbose = static_cast<int>(
      std::ranges::count(split.options, &flag_of(FlagId::verbose), &GivenOption::flag));
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

Result<void> set_program(Options& options, const Switches& switches, const Split& split) {
  if (!split.script || split.script->empty()) {
    const std::string name = split.called_torchrun ? "torchrun" : "toprun";
    return usage("no script given", {}, fmt::format("{} -h shows how", name));
  }
  options.script = *split.script;
  options.arguments = split.arguments;
  if (switches.run_path) return {};
  if (switches.module && switches.no_python) {
    return usage("-m and --no-python contradict each other", {}, "give only one of them");
  }
  if (switches.module) options.program = plan::Program::module;
  if (switches.no_python) options.program = plan::Program::executable;
  return {};
}

Result<void> settle_standalone(Options& options, const Switches& switches) {
  if (!options.standalone) return {};
  if (const auto nodes = options.nnodes.value; nodes && *nodes > 1) {
    return usage(fmt::format("{} is for one node, but {} says {}", switches.standalone_source,
                             options.nnodes.source, *nodes),
                 {}, "drop " + switches.standalone_source);
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

// As torchrun: without files for them the streams stay where they are.
void settle_logs(Options& options, Switches& switches) {
  if (!switches.keeps_no_logs || options.redirects.empty()) return;
  options.redirects = {};
  switches.notes.push_back(
      fmt::format("--redirects has no effect: --log-dir {} keeps no files", null_device));
}

Result<void> settle_plan(Options& options, const PlanOptions& given) {
  auto plan = parse_order_plan(given);
  if (!plan) return std::unexpected(std::move(plan.error()));
  const bool by_topology =
      options.order == plan::Order::automatic || options.order == plan::Order::topology;
  if (*plan && !by_topology) {
    return usage("--order and --parallel", "either decides where the nodes stand",
                 "leave one of them out, or say --order topology");
  }
  if (*plan && options.segment > 1) {
    return usage("--segment and --parallel", "either decides which nodes stand together",
                 "leave one of them out");
  }
  options.plan = *std::move(plan);
  return {};
}

// Its own code is asked, by the ranks' Python and where toprun starts them.
Result<void> check_accelerate(const Options& options) {
  if (options.accelerate_config.empty()) return {};
  const std::string hint = "give the settings by -e instead, as -e ACCELERATE_MIXED_PRECISION=bf16";
  if (!options.container.empty()) {
    return usage("--accelerate-config", "the accelerate in a container cannot be asked", hint);
  }
  if (options.launcher.given()) {
    return usage("--accelerate-config", "with --launcher, mpirun starts the ranks", hint);
  }
  return {};
}

// On the command line the one goes before the other's variable.
Result<void> settle_hosts(Options& options) {
  if (!options.hosts.given() || !options.host_file.given()) return {};
  const bool file_is_meant = options.host_file.source.starts_with('-');
  if (options.hosts.source.starts_with('-') == file_is_meant) {
    return usage(fmt::format("{} and {}", options.hosts.source, options.host_file.source),
                 "either names the hosts", "give only one of them");
  }
  const Setting<std::string> unset;  // by name: g++ 12 leaves its parts empty in `= {}`
  (file_is_meant ? options.hosts : options.host_file) = unset;
  return {};
}

Result<void> settle_launcher(Options& options) {
  const std::string& ranks = options.nproc_per_node.source;
  if (options.launcher.value.empty()) {
    if (ranks != "--ranks-per-node" && ranks != "TOPRUN_RANKS_PER_NODE") return {};
    return usage(ranks, "it is for --launcher mpirun", "give --nproc-per-node");
  }
  if (options.max_restarts > 0) {
    return usage("--max-restarts with --launcher mpirun",
                 "mpirun starts the ranks, and starts none again",
                 "let the engine requeue the job, or drop --launcher");
  }
  if (options.via.value.empty()) return {};
  return usage("--via and --launcher", "either starts what runs on the nodes",
               "give only one of them");
}

Result<void> check_node_rank(const Options& options) {
  const auto nodes = options.nnodes.value;
  const auto rank = options.node_rank.value;
  if (!nodes || !rank || *rank < *nodes || plan::node_rank_is_a_wish(options)) return {};
  return usage(fmt::format("--node-rank {}", *rank),
               fmt::format("{} says {} nodes, so it must be from 0 to {}", options.nnodes.source,
                           *nodes, *nodes - 1));
}

// A port that the kernel chooses on one node is known to none of the others.
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

}  // namespace

Result<RunOptions> run_options(const Split& split, const std::vector<std::string>& argv,
                               const Environment& environment, const IsFile& is_file) {
  RunOptions out{defaults(split, argv), {}};
  Switches switches;
  for (const Flag& flag : all_flags()) {
    if (!knows(Command::run, flag)) continue;
    for (const Given& given : all_given(flag, split, environment)) {
      if (auto done = set(out.options, switches, flag.id, given, is_file); !done) {
        return std::unexpected(std::move(done.error()));
      }
      if (auto note = note_on(flag, given)) out.notes.push_back(std::move(*note));
    }
  }
  settle_logs(out.options, switches);
  std::ranges::move(switches.notes, std::back_inserter(out.notes));
  out.options.option_variables = option_variables(environment);

  auto container = container_options(split, environment, out.notes);
  if (!container) return std::unexpected(std::move(container.error()));
  out.options.container = *std::move(container);

  Result<void> settled = set_program(out.options, switches, split);
  if (settled) settled = set_activation(out.options.activation, split, environment);
  if (settled) settled = settle_standalone(out.options, switches);
  if (settled) settled = check_accelerate(out.options);
  if (settled) settled = settle_plan(out.options, switches.plan);
  if (settled) settled = settle_hosts(out.options);
  if (settled) settled = settle_launcher(out.options);
  if (settled) settled = check_node_rank(out.options);
  if (settled) settled = check_ports(out.options);
  if (!settled) return std::unexpected(std::move(settled.error()));
  return out;
}

Result<plan::Activation> activation_options(const Split& split, const Environment& environment) {
  Options options;
  Switches switches;
  for (const FlagId id : {FlagId::before, FlagId::conda, FlagId::venv}) {
    const auto given = given_of(flag_of(id), split, environment);
    if (!given) continue;
    if (auto done = set(options, switches, id, *given, {}); !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  if (auto done = set_activation(options.activation, split, environment); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return std::move(options.activation);
}

}  // namespace toprun::options
