#include "base/text/text.h"
#include "engines/engine.h"
#include "engines/kubernetes/kubernetes.h"
#include "engines/login/login.h"
#include "engines/manual.h"
#include "engines/mpi/mpi.h"
#include "engines/slurm/slurm.h"

namespace toprun::engines {
namespace {

// The number of processes that a launcher with PMI started and that no engine here recognises: each
// would become a world of its own.
constexpr const char* foreign_world = "PMI_SIZE";

constexpr std::chrono::seconds pod_kill_wait{30};  // terminationGracePeriodSeconds

Result<void> check_standalone(const Hints& hints) {
  if (hints.standalone && hints.nnodes && *hints.nnodes > 1) {
    return usage(fmt::format("--standalone with {} {}", hints.nnodes_source, *hints.nnodes),
                 "--standalone is for one node", "drop --standalone");
  }
  return {};
}

// A Slurm step sets PMI_SIZE too, with --mpi=pmi2: there Slurm's own variables contain more.
Result<void> check_foreign_worlds(const Environment& environment) {
  if (environment.has("SLURM_STEP_ID")) return {};
  const auto size = environment.non_empty(foreign_world);
  if (!size || *size == "1") return {};
  return fail(fmt::format("a launcher started {} processes ({})", *size, foreign_world),
              "each process would be a separate job with one node",
              "start one toprun per node and give --nnodes, --node-rank and --rdzv-endpoint");
}

Result<void> check_node_rank(const Allocation& allocation, const Hints& hints) {
  if (!hints.node_rank || *hints.node_rank < allocation.node_count) return {};
  return usage(fmt::format("--node-rank {}", *hints.node_rank),
               fmt::format("the job has {} ({})", counted(allocation.node_count, "node"),
                           allocation.node_count_source),
               allocation.node_count_source == "default" ? "give --nnodes" : "");
}

}  // namespace

std::string_view name_of(EngineKind kind) {
  constexpr std::string_view names[] = {"local", "manual",     "mpi", "slurm",
                                        "ssh",   "kubernetes", "exec"};
  return names[static_cast<std::size_t>(kind)];
}

Result<AgentCommand> Engine::agent_command(const Environment&, const Allocation&,
                                           const AgentRequest&) const {
  return fail(fmt::format("{} starts no agents", name_of(kind())));
}

std::span<const Engine* const> engines() {
  static const LoginEngine login;
  static const MpiEngine mpi;
  static const KubernetesEngine kubernetes;
  static const ManualEngine manual;
  static const SlurmEngine slurm;
  static const LocalEngine local;
  static const Engine* const all[] = {&login, &mpi, &kubernetes, &manual, &slurm, &local};
  return all;
}

bool on_command_line(std::string_view source) {
  return source.starts_with('-');
}

bool wants_single(const Hints& hints) {
  return hints.standalone || (hints.nnodes == 1 && on_command_line(hints.nnodes_source));
}

Result<Allocation> detect(const Environment& environment, const Hints& hints) {
  TRY(check_standalone(hints));
  for (const Engine* engine : engines()) {
    auto found = TRY(engine->detect(environment, hints));
    if (!found) continue;
    const bool knows_its_world =
        found->engine != EngineKind::slurm && found->engine != EngineKind::local;
    if (!knows_its_world && !wants_single(hints)) {
      TRY(check_foreign_worlds(environment));
    }
    TRY(check_node_rank(*found, hints));
    if (!found->kill_wait && environment.has("KUBERNETES_SERVICE_HOST")) {
      found->kill_wait = pod_kill_wait;
    }
    return std::move(*found);
  }
  return fail("no engine recognizes this process");
}

Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                   const AgentRequest& request) {
  const auto engine = std::ranges::find(engines(), allocation.engine, &Engine::kind);
  return (*engine)->agent_command(environment, allocation, request);
}

void requeue_orphaned(const Environment& environment, const Pause& pause) {
  for (const Engine* engine : engines()) engine->requeue_orphaned(environment, pause);
}

std::optional<Presence> presence(const Environment& environment) {
  for (const Engine* engine : engines()) {
    if (auto known = engine->presence(environment)) return known;
  }
  return std::nullopt;
}

void end_step(const Environment& environment) {
  for (const Engine* engine : engines()) engine->end_step(environment);
}

std::optional<Stop> why_stopped(const Environment& environment) {
  for (const Engine* engine : engines()) {
    if (auto stop = engine->why_stopped(environment)) return stop;
  }
  return std::nullopt;
}

int requeues(const Environment& environment) {
  int most = 0;
  for (const Engine* engine : engines()) most = std::max(most, engine->requeues(environment));
  return most;
}

void put_back(const Environment& environment) {
  for (const Engine* engine : engines()) engine->put_back(environment);
}

bool is_of_an_engine(pid_t process) {
  return std::ranges::any_of(engines(),
                             [&](const Engine* engine) { return engine->owns(process); });
}

bool signals_every_process(const Environment& environment) {
  return std::ranges::any_of(
      engines(), [&](const Engine* engine) { return engine->signals_every_process(environment); });
}

}  // namespace toprun::engines
