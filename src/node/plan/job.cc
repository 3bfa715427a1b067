#include "node/plan/job.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/net/host_file.h"
#include "base/net/resolve.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/gpus.h"
#include "engines/kubernetes/pod.h"
#include "engines/login/login.h"
#include "engines/mpi/mpi.h"
#include "engines/mpi/slots.h"
#include "engines/mpi/world.h"
#include "node/link/preamble.h"
#include "node/plan/accelerate.h"
#include "node/plan/activation.h"
#include "node/plan/container_plan.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"
#include "node/plan/program.h"
#include "node/plan/root_place.h"

namespace toprun::plan {
namespace {

using engines::Stance;
using std::chrono::milliseconds;

constexpr int static_port = 29500;
constexpr int c10d_port = 29400;
constexpr int engine_ports = 8;  // P … P+7, if the engine chose P
constexpr int max_setting_s = 7 * 24 * 3600;

// Only kubelet's form of /etc/hosts tells it.
std::string host_domain(const Environment& environment, const std::string& host_name) {
  if (!environment.has("KUBERNETES_SERVICE_HOST")) return {};
  return engines::kubernetes::domain_in_hosts(read_file("/etc/hosts").value_or(""), host_name);
}

// PBS Pro tells the number of nodes nowhere else.
int hosts_of_pbs(const Environment& environment) {
  const auto path = environment.non_empty("PBS_NODEFILE");
  const auto text = path ? read_file(*path, hosts::max_host_file_bytes) : Result<std::string>("");
  if (!text) return 0;
  const auto names = words(*text);
  return static_cast<int>(std::set<std::string_view>(names.begin(), names.end()).size());
}

// In the launcher's pod mpirun was not called yet, and nothing says what starts the ranks.
bool starts_an_mpi_job(const Options& options, const Environment& environment) {
  const bool is_said = options.hosts.is_set() || options.in_job.is_set() ||
                       options.host_file.is_set() || options.standalone ||
                       options.nnodes.value == 1 || options.ranks_in_place ||
                       options.rdzv_endpoint.value || options.master_addr.value ||
                       !options.via.value.empty() || !options.launcher.value.empty();
  if (is_said || !engines::kubernetes::is_mpi_launcher(environment)) return false;
  const auto world = engines::mpi_world(environment);
  return world && !*world;
}

Result<engines::Hints> hints_of(const Options& options, const Environment& environment,
                                std::vector<std::string>& notes) {
  engines::Hints hints;
  const bool is_reported =
      engines::is_login_agent(environment) || engines::is_mpi_agent(environment);
  if (!is_reported && options.in_job.is_set()) {
    const std::string option = "--in " + options.in_job.value;
    auto found = TRY(running_pods(option, options.in_job.value, environment));
    hints.hosts = nodes_of(found);
    hints.hosts_source = options.in_job.source;
  } else if (!is_reported) {
    hints.hosts = TRY(named_hosts(options, notes));
    hints.hosts_source = options.hosts.is_set() ? options.hosts.source : options.host_file.source;
  }
  if (!options.via.value.empty()) hints.via = options.via.source;
  if (!options.launcher.value.empty()) hints.via = options.launcher.source;
  if (!is_reported && starts_an_mpi_job(options, environment)) {
    Options by_operator;
    by_operator.host_file = {engines::kubernetes::mpi_host_file, "the MPIJob's host file"};
    hints.hosts = TRY(named_hosts(by_operator, notes));
    hints.hosts_source = by_operator.host_file.source;
    hints.via = "MPIJob's";
  }
  hints.nnodes = options.nnodes.value;
  hints.min_nodes = options.min_nodes;
  hints.replaces_nodes = options.min_nodes || options.max_restarts > 0;
  hints.nnodes_source = options.nnodes.source;
  if (!node_rank_is_a_hint(options)) hints.node_rank = options.node_rank.value;
  hints.node_index = options.node_index.value;
  if (options.rdzv_endpoint.value) {
    hints.endpoint_source = options.rdzv_endpoint.source;
    hints.endpoint_host = options.rdzv_endpoint.value->host;
  } else if (options.master_addr.value) {
    hints.endpoint_source = options.master_addr.source;
    hints.endpoint_host = *options.master_addr.value;
  }
  hints.pbs_nodes = hosts_of_pbs(environment);
  hints.standalone = options.standalone;
  hints.ranks_in_place = options.ranks_in_place;
  hints.called_torchrun = options.called_torchrun;
  hints.counts_processes = options.nproc_per_node.is_set();
  hints.terminal = ::isatty(STDIN_FILENO) != 0;
  hints.host_name = hosts::host_name();
  hints.host_domain = host_domain(environment, hints.host_name);
  return hints;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

Result<void> count_workers(Job& job) {
  engines::SlotsRequest request;
  request.nproc_per_node = job.options.nproc_per_node.value;
  request.source = job.options.nproc_per_node.source;
  request.called_torchrun = job.options.called_torchrun;
  request.lists_hosts = job.options.hosts.is_set() || job.options.host_file.is_set();
  request.cpus = usable_cpus();
  request.visible = engines::visible_gpus(job.environment);
  const auto slots = TRY(engines::slots_here(job.environment, job.place, request));
  job.nproc = job.place.stance == Stance::in_place ? 1 : slots.count;
  job.nproc_source = slots.source;
  return {};
}

Result<Python> python_here(const Job& job) {
  return choose_python(job.options.command_line.front(), job.environment, hosts::host_name());
}

Result<void> choose_program(Job& job, const Activated& activated) {
  job.program.clear();
  if (job.options.program == Program::executable) {
    job.program_reason = "--no-python";
  } else {
    auto python = python_here(job);
    if (activated.python) python = Python{*activated.python, activated.python_reason};
    if (!python) return std::unexpected(python.error());
    job.program = {python->path, "-u"};
    job.program_reason = python->reason;
    if (job.options.program == Program::module) job.program.push_back("-m");
  }
  job.program.push_back(job.options.script);
  job.program.insert(job.program.end(), job.options.arguments.begin(), job.options.arguments.end());
  return {};
}

// --stage may name a conda environment as --conda does.
Result<void> name_conda(Job& job) {
  std::string& stage = job.options.stage;
  if (stage.empty() || stage != job.options.activation.conda || stage.contains('/')) return {};
  const auto folder = TRY(find_conda(stage, job.environment, hosts::host_name()));
  stage = folder.string();
  return {};
}

// One node copies nothing, and so does not find out.
void note_absent_stage(Job& job) {
  const std::string& stage = job.options.stage;
  const bool is_read = job.place.stance != Stance::starter && job.place.stance != Stance::in_place;
  std::error_code failed;
  if (stage.empty() || !is_read || job.several_processes()) return;
  if (std::filesystem::exists(stage, failed) || failed) return;
  job.place.notes.push_back(
      fmt::format("--stage {} has no effect: a job on one node needs no copy, and this node does "
                  "not have this path",
                  stage));
}

// A setting for many jobs, as from a file, may have none for this one.
void note_idle_requirement(Job& job) {
  const Setting<bool>& required = job.options.require_rdma;
  const bool is_typed = required.value && required.source.starts_with('-');
  if (!is_typed || job.several_processes() || job.place.stance == Stance::starter) return;
  job.place.notes.emplace_back("--require-rdma has no effect: all ranks are on one node");
}

// Determines the program and the number of workers on this host.
Result<void> inspect_host(Job& job) {
  if (job.starts_by_login()) return {};
  Activation requested = job.options.activation;
  if (job.in_container()) requested.venv = requested.conda = {};  // entered inside
  if (job.options.dry_run) requested.before = {};                 // a dry run executes nothing
  auto activated = TRY(activate(requested, job.environment, hosts::host_name()));
  job.environment = activated.environment;
  if (!activated.note.empty()) job.place.reasons.push_back(activated.note);
  if (job.in_container()) {
    job.program = program_of_rank(job.options, job.environment);
    job.program_reason = "in the container";
    return count_workers(job);
  }
  if (auto named = name_conda(job); !named) return named;
  if (auto there = check_program(job.options, job.environment); !there) return there;
  if (auto counted = count_workers(job); !counted) return counted;
  return choose_program(job, activated);
}

// Variables of the user's -e override the file's.
Result<void> add_accelerate(Job& job) {
  const std::string& file = job.options.accelerate_config;
  if (file.empty() || job.place.stance == Stance::starter || job.options.dry_run) return {};
  std::string python = job.program.front();
  if (job.options.program == Program::executable) {
    auto chosen = TRY(python_here(job));
    python = std::move(chosen.path);
  }
  const auto settings = TRY(accelerate_settings(file, python, {job.nnodes, job.nproc},
                                                job.environment, hosts::host_name()));
  std::vector<std::string> set;
  const auto& requested = job.options.activation.variables;
  for (const auto& [name, value] : settings.variables.variables()) {
    if (std::ranges::find(requested, name, [](const auto& each) { return each.first; }) !=
        requested.end()) {
      continue;
    }
    set.push_back(fmt::format("{}={}", name, value));
    job.environment.set(name, value);
  }
  job.place.reasons.push_back(fmt::format("--accelerate-config sets {}", join(set, " ")));
  const int started = job.place.stance == Stance::in_place ? job.tasks : job.nnodes * job.nproc;
  const bool is_chosen = job.options.nproc_per_node.is_set() || job.place.my_node.value_or(0) != 0;
  if (!is_chosen && settings.processes.value_or(started) != started) {
    job.place.notes.push_back(
        fmt::format("{} is for {} processes in all, but toprun starts {}: set the number of "
                    "processes per node with --nproc-per-node",
                    file, *settings.processes, started));
  }
  return {};
}

void choose_ports(Job& job) {
  const Options& options = job.options;
  // No other process has to know the port in advance.
  const bool port_is_private = job.on_one_host() && job.place.stance != Stance::in_place &&
                               !named_endpoint(options) && !options.called_torchrun;
  std::optional<int> asked = options.master_port.value;
  if (options.rdzv_endpoint.value && options.rdzv_endpoint.value->port) {
    asked = options.rdzv_endpoint.value->port;
  }
  job.port_is_ours_to_choose = !asked;
  if (asked) {
    job.ports = {*asked};
  } else if (options.standalone || port_is_private) {
    job.ports = {0};  // avoids another job on this host and ports that others expect to be free
  } else if (job.place.port) {
    for (int i = 0; i < engine_ports; ++i) job.ports.push_back(*job.place.port + i);
  } else {
    job.ports = {options.rdzv_backend.value == "c10d" ? c10d_port : static_port};
    // The other nodes know only this port, so it cannot change.
    job.port_is_ours_to_choose = job.nnodes == 1;
  }
}

void choose_root(Job& job) {
  RootPlace root = place_root(job.options, job.place, job.reach());
  job.is_root = root.is_root;
  job.root_host = std::move(root.host);
  job.other_root_hosts = std::move(root.others);
  job.root_beside_endpoint = std::move(root.beside_endpoint);
  job.is_root_if_no_other = root.if_no_other;
  if (!root.endpoint_is_meant) job.options.master_addr.value.reset();  // the ranks' MASTER_ADDR
  if (!root.note.empty()) job.place.notes.push_back(std::move(root.note));
}

// A number of seconds from --rdzv-conf.
std::optional<milliseconds> seconds(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto value = parse_double(*text);
  if (!value || *value <= 0) return std::nullopt;
  return milliseconds(static_cast<long>(std::min<double>(*value, max_setting_s) * 1000));
}

// Defaults for the two keep_alive settings of --rdzv-conf if only one of them is given.
constexpr milliseconds torchrun_keep_alive_interval{5'000};
constexpr int torchrun_keep_alive_attempts = 3;
constexpr std::chrono::seconds before_the_engine{5};
// These agents start together; one that did not answer or lost its connection cannot join later.
constexpr std::chrono::seconds login_last_call{5};

void choose_limits(Job& job) {
  const auto conf = [&](const char* name) {
    const auto found = job.options.rdzv_conf.find(name);
    return found == job.options.rdzv_conf.end() ? std::optional<std::string>() : found->second;
  };
  if (is_by_login(job.place.engine)) job.last_call = login_last_call;
  if (const auto timeout = seconds(conf("join_timeout"))) job.join_timeout = *timeout;
  if (const auto timeout = seconds(conf("last_call_timeout"))) job.last_call = *timeout;
  const auto interval = seconds(conf("keep_alive_interval"));
  const auto attempts = conf("keep_alive_max_attempt");
  if (interval) {
    job.patience.beat = *interval / 2;
    job.keeper_beat = std::min(job.keeper_beat, job.patience.beat);
  }
  if (interval || attempts) {
    job.patience.silence = interval.value_or(torchrun_keep_alive_interval) *
                           parse_int(attempts.value_or("")).value_or(torchrun_keep_alive_attempts);
  }
  // The workers' grace period must end before the engine kills them.
  if (job.place.kill_wait) {
    job.grace.stop =
        std::min<milliseconds>(job.grace.stop, *job.place.kill_wait - before_the_engine);
  }
  if (job.options.shutdown_timeout) job.grace.stop = *job.options.shutdown_timeout;
}

// A single node that no other can find: torchrun then meets itself under a fresh id.
bool is_isolated(const Options& options, int nnodes) {
  return options.standalone ||
         (nnodes == 1 && options.rdzv_backend.value == "static" && !options.rdzv_id.is_set() &&
          !options.rdzv_endpoint.value && !options.master_port.value);
}

// RFC 9562 section 5.4.
std::string uuid4() {
  std::string id = link::random_hex(16);
  id[12] = '4';
  id[16] = "89ab"[id[16] % 4];
  for (const std::size_t dash : {8u, 13u, 18u, 23u}) id.insert(dash, "-");
  return id;
}

// Workers must not inherit them. The agents of a step read them again, except those of one node.
void unset_option_variables(Job& job) {
  if (job.place.stance != Stance::starter) {
    for (const std::string& name : job.options.option_variables) job.environment.unset(name);
  }
  for (const char* name : variables_of_one_node) job.environment.unset(name);
  // An agent's workers are not MPI ranks, and must not all use the same rank's variables.
  if (job.place.engine == engines::EngineKind::mpi && job.place.stance != Stance::in_place) {
    for (const std::string& name : engines::mpi_variables(job.environment)) {
      job.environment.unset(name);
    }
  }
}

std::string with_job_id(std::string path, std::string_view id) {
  constexpr std::string_view mark = "%j";
  for (std::size_t at = 0; !id.empty() && (at = path.find(mark, at)) != std::string::npos;) {
    path.replace(at, mark.size(), id);
    at += id.size();
  }
  return path;
}

void name_files(Job& job) {
  for (auto* const path : {&job.options.node_log, &job.options.report}) {
    if (*path) *path = with_job_id(std::move(**path), job.place.job_id);
  }
}

}  // namespace

hosts::Reach Job::reach() const {
  if (!on_one_host()) return hosts::Reach::everybody;
  const auto endpoint = named_endpoint(options);
  if (!endpoint || endpoint->host == "localhost") return hosts::Reach::this_host;
  const auto address = hosts::Address::parse(endpoint->host);
  return address && address->is_loopback() ? hosts::Reach::this_host : hosts::Reach::everybody;
}

Result<Job> prepare(const Options& options, const Environment& environment,
                    const spawn::Inherited& inherited) {
  std::vector<std::string> notes;
  auto hints = TRY(hints_of(options, environment, notes));
  if (!options.dry_run && !engines::wants_single(hints)) {
    hints.meeting = TRY(meet(environment));
  }
  auto place = TRY(engines::detect(environment, hints));
  place.notes.insert(place.notes.end(), notes.begin(), notes.end());
  Job job;
  job.options = options;
  job.environment = environment;
  if (environment.has(inside_variable)) {
    job.options.container = {};
    job.environment.unset(inside_variable);
  }
  job.inherited = inherited;
  job.place = std::move(place);
  unset_option_variables(job);
  job.nnodes = job.place.node_count;
  job.nnodes_source = job.place.node_count_source;
  job.min_nodes = std::min(job.options.min_nodes.value_or(job.nnodes), job.nnodes);
  if (options.node_rank.value && *options.node_rank.value >= job.nnodes &&
      !node_rank_is_a_hint(options)) {
    return usage(fmt::format("--node-rank {}", *options.node_rank.value),
                 fmt::format("the job has {} nodes", job.nnodes), "node ranks count from 0");
  }
  if (job.nnodes > 1 && (options.master_port.value == 0 ||
                         (options.rdzv_endpoint.value && options.rdzv_endpoint.value->port == 0))) {
    return usage("port 0",
                 fmt::format("{} nodes cannot know which port the kernel chooses", job.nnodes),
                 "give a port from 1 to 65535");
  }
  if (options.evicts && job.place.engine == engines::EngineKind::kubernetes) {
    return usage("--evict auto", "in pods, the operator decides what follows a pod that ends",
                 "leave it out");
  }
  if (job.place.stance == Stance::in_place) {
    if (options.max_restarts > 0) {
      return usage(fmt::format("--max-restarts {}", options.max_restarts),
                   "toprun cannot restart ranks that the engine starts one by one",
                   "start one toprun per node (srun --ntasks-per-node=1), or let the engine "
                   "requeue the job");
    }
    const bool is_first = job.place.task.value_or(0) == 0 && job.place.my_node.value_or(0) == 0 &&
                          job.place.local_rank.value_or(0) == 0;
    if (!options.stage.empty() && is_first) {
      job.place.notes.push_back(
          "--stage has no effect: the engine starts each rank separately, without an agent per "
          "node");
    }
    job.tasks = job.place.tasks;
    for (const engines::Node& node : job.place.nodes) job.tasks += node.slots.value_or(1);
  }
  auto known = inspect_host(job);
  if (known) note_absent_stage(job);
  note_idle_requirement(job);
  if (known) known = add_accelerate(job);
  if (!known) {
    const bool awaited = job.several_processes() && job.place.stance != Stance::starter;
    if (options.dry_run || !awaited) return std::unexpected(known.error());
    job.unfit = std::move(known.error());
  }
  job.run_id = is_isolated(options, job.nnodes) ? uuid4() : options.rdzv_id.value;
  job.name = job.place.job.empty() ? job.run_id : job.place.job;
  name_files(job);
  choose_ports(job);
  choose_root(job);
  choose_limits(job);
  return job;
}

}  // namespace toprun::plan
