// Chooses the role of this process by its first arguments and variables, in one table.
//
// A launch, `toprun train.py`, runs through these files:
//   cli/verbs/run.cc             makes launch options from flags, variables and toprun.toml
//   node/launch/launch.cc        launch(): plan::prepare() makes the Job; carry_out() runs one of
//     node/launch/step.cc          a starter: srun or mpirun starts an agent on each node
//     node/launch/login_step.cc    a starter: logs in to each host or pod and starts an agent there
//     node/launch/mpi_ranks.cc     a starter: mpirun starts each rank
//     node/worker/keeper.cc        an agent, as a child of the keeper that watches it
//   node/agent/agent_process.cc  runs an agent: it connects to the root, or is the root itself
//   node/agent/root.cc           drives run/conductor/coordinator.cc, which decides for all nodes
//   node/agent/member.cc         drives run/conductor/node_part.cc, which decides for one node
//   node/worker/workers.cc       starts the ranks, and reports how they end
#include <unistd.h>

#include <string>
#include <vector>

#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/os/uncaught.h"
#include "bench/measure/backend.h"
#include "cli/benchmark/worker.h"
#include "cli/verbs/run.h"
#include "node/plan/packed_words.h"
#include "node/worker/shim.h"

namespace toprun {
namespace {

using Words = std::vector<std::string>;

struct Part {
  bool (*is_asked)(const Words&, const Environment&);
  int (*play)(Words&&, Environment&&);
};

constexpr Part parts[] = {
    // The first process of a container.
    {[](const Words& words, const Environment&) {
       return words.size() == 3 && words[1] == worker::shim_word;
     },
     [](Words&& words, Environment&&) { return worker::run_shim(words[2]); }},
    // A rank of `toprun bench`.
    {[](const Words& words, const Environment&) {
       return words.size() > 2 && words[1] == benchmark::worker_word;
     },
     [](Words&& words, Environment&& environment) {
       const measure::NamedBackend backends[] = {{"tcp", measure::open_tcp}};
       return benchmark::run_worker(words, environment, backends);
     }},
    // An agent that a login started.
    {[](const Words&, const Environment& environment) {
       return cli::awaits_login_orders(environment);
     },
     [](Words&&, Environment&& environment) {
       return cli::run_login_agent(std::move(environment));
     }},
    // A verb, or a launch. In a launch this process is a starter, an agent, or the only node.
    {[](const Words&, const Environment&) { return true; },
     [](Words&& words, Environment&& environment) {
       return cli::act(std::move(words), environment);
     }},
};

}  // namespace
}  // namespace toprun

int main(int argc, char** argv) {
  using namespace toprun;
  explain_uncaught_exceptions();
  auto words = plan::words_unpacked(Words(argv, argv + argc));
  if (!words) return give_up(words.error());
  Environment environment = Environment::from(environ);
  const Part* part = parts;
  while (!part->is_asked(*words, environment)) ++part;
  return part->play(*std::move(words), std::move(environment));
}
