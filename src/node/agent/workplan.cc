#include "node/agent/workplan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/os/signals.h"
#include "base/text/text.h"
#include "engines/gpus.h"
#include "node/agent/evidence/recorders.h"
#include "node/agent/streams.h"
#include "node/output/log_files.h"
#include "node/plan/container_plan.h"
#include "node/worker/binding.h"
#include "node/worker/environment.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::agent {
namespace {

// A rank in place may be given its own GPU only, which then has index 0 whatever its local rank.
bool has_a_gpu_of_its_own(const plan::Job& job, const worker::Machine& machine) {
  return job.place.stance == engines::Stance::in_place && machine.gpu_nodes.size() == 1;
}

// Whether the host's name leads to none of its addresses. The name is looked up only where Gloo
// would use it to reach another host; with a route by loopback there is none.
bool own_name_leads_astray(const std::vector<hosts::LocalAddress>& own,
                           const std::optional<hosts::Address>& route,
                           const Environment& environment) {
  return route && !route->is_loopback() && !environment.has("GLOO_SOCKET_IFNAME") &&
         !hosts::resolves_to_one_of(hosts::host_name(), own, own_name_limit);
}

fabric::Route route_of(const std::vector<hosts::LocalAddress>& own,
                       const std::optional<hosts::Address>& address) {
  if (!address) return {};
  const auto found = std::ranges::find(own, *address, &hosts::LocalAddress::address);
  if (found == own.end()) return {};
  return {found->interface, "the way to the root"};
}

// The lines of several nodes arrive mixed, so each line begins with its node. Variables that are
// not changed for the same reason share a line.
void say_settings(const std::vector<fabric::Setting>& settings, const plan::Job& job) {
  const std::string node = job.several_processes() ? job.place.node_name + ": " : "";
  std::vector<std::pair<std::string, std::vector<std::string>>> unchanged;  // by reason
  for (const fabric::Setting& setting : settings) {
    if (setting.value) {
      say(fmt::format("{}{}={}: {}", node, setting.name, *setting.value, setting.reason));
      continue;
    }
    auto its =
        std::ranges::find(unchanged, setting.reason, [](const auto& one) { return one.first; });
    if (its == unchanged.end()) its = unchanged.insert(its, {setting.reason, {}});
    its->second.push_back(setting.name);
  }
  for (const auto& [reason, names] : unchanged) {
    say(fmt::format("{}{} {} not changed: {}", node, join(names, ", "),
                    names.size() == 1 ? "is" : "are", reason));
  }
}

// The variables with which the workers' NCCL, Gloo and UCX use the right network.
std::vector<std::pair<std::string, std::string>> network_variables(const WorkRequest& request) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto own = hosts::local_addresses();
  if (!request.network || !own || request.job->options.fabric == "off") return variables;
  fabric::NodeFabric node = *request.network;
  node.environment = request.place.environment;
  fabric::take_route(node, route_of(*own, request.route), fabric::Sysfs());
  node.own_name_leads_astray = own_name_leads_astray(*own, request.route, node.environment);
  const bool tells = request.job->options.verbose > 0 && request.assignment.attempt == 0;
  auto settings = fabric::decide(node);
  if (tells) say_settings(settings, *request.job);
  for (fabric::Setting& setting : settings) {
    if (fabric::is_ours(setting)) variables.emplace_back(setting.name, *std::move(setting.value));
  }
  return variables;
}

// Whether the workers' NCCL writes what it does with the network.
bool proves(const WorkRequest& request) {
  return request.network && probes::takes_proof(*request.job, request.place.environment);
}

// Where the flight recorders' dumps stay: beside the logs, those of all nodes in one folder, for
// `toprun stacks --dumps`; or where both a container and the host see them. Else PyTorch decides.
std::optional<std::string> dumps_folder(const WorkRequest& request, const worker::Logs& logs) {
  const int attempt = request.assignment.attempt;
  if (logs.kept()) {
    const std::string& own = logs.folder();  // LOG_DIR/RUN_ID_RANDOM
    return fmt::format("{}_attempt_{}_dumps", own.substr(0, own.rfind('_')), attempt);
  }
  if (!request.container_folder) return std::nullopt;
  return fmt::format("{}/attempt_{}/recorder", logs.folder(), attempt);
}

std::string signal_list(const std::vector<int>& signals) {
  std::vector<std::string> names;
  for (const int signal : signals) names.push_back(signal_name(signal));
  return join(names, ",");
}

Result<std::shared_ptr<worker::Logs>> make_logs(const WorkRequest& request) {
  if (request.logs) return request.logs;
  const plan::Job& job = *request.job;
  auto logs = TRY(
      request.container_folder && !job.options.log_dir
          ? worker::Logs::within(*request.container_folder)
          : worker::Logs::create(job.options.log_dir, request.assignment.run_id, job.environment));
  return std::make_shared<worker::Logs>(std::move(logs));
}

// In a container the shim searches for the programs.
Result<void> find_programs(const WorkRequest& request, WorkPlan& plan) {
  if (request.container_folder) return {};
  spawn::ProgramSearch search(request.job->place.node_name);
  for (worker::WorkerPlan& worker : plan.workers) {
    worker.program =
        TRY(search.find(worker.argv.at(0), worker.environment.get("PATH").value_or("")));
  }
  return {};
}

void say_what_users_may_not_expect(const WorkRequest& request) {
  const plan::Options& options = request.job->options;
  const model::Assignment& assignment = request.assignment;
  const bool is_first_node = assignment.first_rank == 0;
  if (options.verbose > 0 && is_first_node &&
      worker::sets_omp_num_threads(request.place.environment, assignment.local_world_size)) {
    say("OMP_NUM_THREADS=1 for each process, because the variable was not set: choose the best "
        "value for your program");
  }
  if (is_first_node && shows_no_rank(options, assignment.local_world_size)) {
    say(
        fmt::format("--local-ranks-filter {}: local ranks here go from 0 to {}, so no output of "
                    "ranks is shown",
                    fmt::join(*options.local_ranks_filter, ","), assignment.local_world_size - 1));
  }
  if (options.require_rdma.value && request.network && !proves(request)) {
    say("--require-rdma: you set NCCL's debug variables yourself, so only the ports and settings "
        "of "
        "this node were checked, not what NCCL does");
  }
}

Result<void> open_file(const std::string& path, std::shared_ptr<Fd>& opened) {
  if (path.empty()) return {};
  auto file = TRY(output::open_log(path));
  opened = std::make_shared<Fd>(std::move(file));
  return {};
}

Result<void> open_files(WorkPlan& plan) {
  for (worker::WorkerPlan& worker : plan.workers) {
    for (output::StreamPlan* const stream : {&worker.out, &worker.err}) {
      if (auto done = open_file(stream->file.value_or(""), stream->opened); !done) return done;
    }
  }
  for (output::FilteredFile* const file : {&plan.output.filtered_out, &plan.output.filtered_err}) {
    if (auto done = open_file(file->path, file->opened); !done) return done;
  }
  return {};
}

// What all workers of this node have in common in this attempt.
worker::WorkerFacts common_facts(const WorkRequest& request) {
  const plan::Job& job = *request.job;
  const model::Assignment& assignment = request.assignment;
  worker::WorkerFacts facts;
  facts.local_world_size = assignment.local_world_size;
  facts.world_size = assignment.world_size;
  facts.group_rank = assignment.group_rank;
  facts.group_world_size = assignment.group_world_size;
  facts.role = job.options.role;
  facts.role_world_size = assignment.role_world_size;
  facts.master_addr = request.master_addr;
  facts.master_port = assignment.store->port;
  facts.max_restarts = job.options.max_restarts;
  facts.restart_count = assignment.restarts;
  facts.run_id = assignment.run_id;
  facts.node_name = job.place.node_name;
  facts.location = assignment.location;
  if (assignment.group_world_size > 1) facts.order = assignment.order;
  facts.attempt = assignment.attempt;
  facts.network = network_variables(request);
  facts.signals_to_handle = signal_list(job.options.signals_to_handle.value);
  return facts;
}

// The facts of the node's worker `index`.
Result<worker::WorkerFacts> facts_of(const WorkRequest& request, const worker::WorkerFacts& common,
                                     int index) {
  worker::WorkerFacts facts = common;
  facts.rank = request.assignment.first_rank + index;
  facts.local_rank = request.job->place.local_rank.value_or(0) + index;
  facts.role_rank = request.assignment.role_first_rank + index;
  if (!request.job->options.virtual_local_rank) return facts;
  facts.only_device = TRY(worker::only_device(request.place.environment, facts.local_rank));
  return facts;
}

// Where the worker's NCCL and its flight recorder write.
void set_evidence(const WorkRequest& request, const std::string& nccl_log, WorkPlan& plan,
                  Environment& environment) {
  const worker::Logs& logs = *plan.logs;
  if (!nccl_log.empty() && proves(request)) {
    probes::let_nccl_write(environment, nccl_log);
    plan.proof.nccl_logs.push_back(nccl_log);
  }
  if (request.job->options.hang_timeout && !logs.folder().empty()) {
    const int attempt = request.assignment.attempt;
    evidence::let_recorders_listen(environment,
                                   fmt::format("{}/attempt_{}/recorder", logs.folder(), attempt),
                                   dumps_folder(request, logs));
  }
}

// A rank that an engine started is not a child of its node's agent, which for others made the
// container.
Result<void> run_in_container_of_its_own(const plan::Job& job, const std::string& folder,
                                         worker::WorkerPlan& worker) {
  auto rank = TRY(plan::plan_rank(job, worker.argv, worker.environment, folder));
  worker.argv = std::move(rank.command.argv);
  worker.environment = std::move(rank.command.environment);
  return {};
}

Result<worker::WorkerPlan> plan_worker(const WorkRequest& request, worker::WorkerFacts facts,
                                       WorkPlan& plan) {
  const plan::Job& job = *request.job;
  const prepare::Workplace& place = request.place;
  const auto files = TRY(plan.logs->worker(request.assignment.attempt, facts.local_rank));
  facts.error_file = files.error_json;
  worker::WorkerPlan worker;
  worker.rank = facts.rank;
  worker.local_rank = facts.local_rank;
  worker.argv = worker::with_local_rank(place.program, facts.local_rank);
  worker.environment = worker::worker_environment(place.environment, facts);
  set_evidence(request, files.nccl_log, plan, worker.environment);
  const std::string host = hosts::host_name();
  worker.out = stream_plan(job.options, facts, stdout_stream, files.stdout_log, host);
  worker.err = stream_plan(job.options, facts, stderr_stream, files.stderr_log, host);
  worker.error_file = files.error_json;
  worker.view = place.view;
  const bool in_place = job.place.stance == engines::Stance::in_place;
  worker.inherit_stdin = in_place || !job.several_processes();
  // The engine may speak to its task by one of them, as Slurm's PMI does.
  if (in_place) worker.kept_fds = job.inherited.descriptors;
  if (in_place && job.in_container()) {
    TRY(run_in_container_of_its_own(job, plan.logs->folder(), worker));
  }
  return worker;
}

}  // namespace

Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const model::Assignment& assignment) {
  std::vector<std::vector<int>> cpus;
  if (!job.options.numa_binding) return cpus;
  const auto gpus = TRY(engines::gpu_addresses(job.environment));
  const auto machine = TRY(worker::read_machine(job.inherited.cpus(), gpus));
  if (gpus.empty() && assignment.attempt == 0 && job.place.local_rank.value_or(0) == 0) {
    say(fmt::format(
        "--numa-binding: {} has no GPU, so its ranks are spread evenly over its NUMA nodes",
        job.place.node_name));
  }
  for (int i = 0; i < assignment.nproc; ++i) {
    const int local_rank = job.place.local_rank.value_or(0) + i;
    const int seat = has_a_gpu_of_its_own(job, machine) ? 0 : local_rank;
    auto binding =
        TRY(worker::bind(machine, *job.options.numa_binding, seat, assignment.local_world_size));
    if (job.options.verbose > 0) {
      say(fmt::format("rank {} is bound to CPUs {} (NUMA node {}{})", assignment.first_rank + i,
                      worker::cpu_list(binding.cpus), binding.node,
                      gpus.empty() ? "" : ", GPU " + gpus[static_cast<std::size_t>(seat)]));
    }
    cpus.push_back(std::move(binding.cpus));
  }
  return cpus;
}

Result<WorkPlan> plan_work(const WorkRequest& request) {
  const model::Assignment& assignment = request.assignment;
  auto logs = TRY(make_logs(request));
  WorkPlan plan;
  plan.logs = std::move(logs);
  plan.output = output_plan(request.job->options, *plan.logs, assignment.attempt);
  const auto cpus = TRY(bind_workers(*request.job, assignment));
  if (assignment.attempt == 0) say_what_users_may_not_expect(request);
  const worker::WorkerFacts common = common_facts(request);
  for (int i = 0; i < assignment.nproc; ++i) {
    auto facts = TRY(facts_of(request, common, i));
    auto worker = TRY(plan_worker(request, std::move(facts), plan));
    if (!cpus.empty()) worker.cpus = cpus[static_cast<std::size_t>(i)];
    plan.workers.push_back(std::move(worker));
  }
  TRY(find_programs(request, plan));
  TRY(open_files(plan));
  // launch() has reported a file that cannot be opened when it opened it for the agent's own lines.
  auto node_log = request.node_log ? open_node_log(*request.node_log) : Fd();
  if (node_log) plan.node_log = *std::move(node_log);
  return plan;
}

}  // namespace toprun::agent
