#include "start/mpi_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/console.h"
#include "base/fd.h"
#include "base/print.h"
#include "base/text.h"
#include "hosts/address.h"
#include "plan/arrange.h"
#include "plan/container_plan.h"
#include "plan/login_orders.h"
#include "plan/spares.h"
#include "process/child.h"
#include "process/program.h"
#include "scheduler/mpi/mpirun.h"
#include "scheduler/node_list.h"
#include "start/step.h"
#include "topology/source.h"

namespace toprun::start {
namespace {

// The nodes as agents would report them.
std::vector<rendezvous::Join> members_of(const plan::Job& job, const scheduler::Allocation& place) {
  std::vector<rendezvous::Join> members;
  const auto count = std::min(place.nodes.size(), static_cast<std::size_t>(place.node_count));
  for (std::size_t i = 0; i < count; ++i) {
    rendezvous::Join join;
    join.host = place.nodes[i].name;
    join.nnodes = job.nnodes;
    const bool asked = !job.options.nproc_per_node.value.empty();
    join.slots = asked ? job.nproc : place.nodes[i].slots.value_or(job.nproc);
    join.node_index = static_cast<int>(i);
    members.push_back(std::move(join));
  }
  return members;
}

Result<topology::Map> map_of(const plan::Job& job, const std::vector<rendezvous::Join>& members) {
  if (!job.locates()) return topology::Map{};
  topology::Request request{job.options.topology, {}, job.environment};
  for (const rendezvous::Join& join : members) request.members.push_back({join.host, {}, {}});
  return topology::locate(std::move(request));
}

// What the ranks need of this environment: what agents need, and what was activated for them.
std::vector<std::string> variables_for_ranks(const plan::Job& job) {
  std::vector<std::string> wanted = {"PATH", "LD_LIBRARY_PATH", "LOADEDMODULES", "_LMFILES_"};
  for (const auto& [name, value] : job.options.activation.variables) wanted.push_back(name);
  for (const auto& [name, value] : job.environment.variables()) {
    if (name.starts_with("HOROVOD_")) wanted.push_back(name);
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : plan::passed_variables(job.environment, wanted))
    names.push_back(name);
  return names;
}

// In a Slurm job mpirun takes as many slots as the header asked tasks for, which is one per node
// for a job of agents.
void set_slots(MpiRanks& ranks, const scheduler::Allocation& place) {
  if (!ranks.environment.has("SLURM_TASKS_PER_NODE")) return;
  std::vector<int> slots;
  for (const scheduler::Node& node : place.nodes) {
    const auto count = std::ranges::count(ranks.hosts, node.name);
    slots.push_back(std::max(1, static_cast<int>(count)));
  }
  ranks.environment.set("SLURM_TASKS_PER_NODE", scheduler::count_list_text(slots));
}

// Each rank is this program, which becomes the one in a container.
std::vector<std::string> contained_rank(const plan::Job& job) {
  std::vector<std::string> argv = {"env", fmt::format("{}=1", contained_rank_variable),
                                   program_for(job)};
  const auto arguments = arguments_for(job);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

// A file that this process removes at its end.
class HostFile {
 public:
  ~HostFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  HostFile() = default;
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;

  Result<std::string> write(const Environment& environment, const std::string& text) {
    path_ = environment.non_empty("TMPDIR").value_or("/tmp") + "/toprun-hosts-XXXXXX";
    const Fd file(::mkostemp(path_.data(), O_CLOEXEC));
    if (file.get() < 0) return fail_errno("cannot make " + std::exchange(path_, {}));
    if (::write(file.get(), text.data(), text.size()) != std::ssize(text)) {
      return fail_errno("cannot write " + path_);
    }
    return path_;
  }

 private:
  std::string path_;
};

}  // namespace

Result<MpiRanks> mpi_ranks(const plan::Job& job) {
  auto mpirun = scheduler::find_mpirun(job.environment);
  if (!mpirun) return std::unexpected(std::move(mpirun.error()));
  const auto place = plan::needed_nodes(job);
  if (!place) return std::unexpected(place.error());
  const auto members = members_of(job, *place);
  const auto map = map_of(job, members);
  if (!map) return std::unexpected(map.error());
  const auto arranged = plan::arrange(members, job.options, *map);
  if (!arranged) return std::unexpected(arranged.error());
  for (const std::string& warning : arranged->order.warnings) say(warning);
  MpiRanks ranks;
  for (const std::size_t member : arranged->nodes) {
    ranks.hosts.insert(ranks.hosts.end(), static_cast<std::size_t>(members[member].slots),
                       members[member].host);
  }
  ranks.environment = job.environment;
  set_slots(ranks, job.place);
  mpirun->as_root = ::geteuid() == 0;
  mpirun->variables = variables_for_ranks(job);
  mpirun->argv = job.in_container() ? contained_rank(job) : job.program;
  if (scheduler::tags_output(*mpirun)) ranks.written = Written::tagged;
  ranks.argv =
      scheduler::mpirun_ranks(*mpirun, host_file_word, static_cast<int>(ranks.hosts.size()));
  return ranks;
}

int run_mpi_ranks(const plan::Job& job) {
  auto ranks = mpi_ranks(job);
  if (!ranks) return give_up(ranks.error());
  if (job.options.verbose > 0) {
    say("hosts by rank: " + join(ranks->hosts, " "));
    say("starting ranks: " + shell_quote(ranks->argv));
  }
  HostFile file;
  const auto path = file.write(job.environment, join(ranks->hosts, "\n") + "\n");
  if (!path) return give_up(path.error());
  std::ranges::replace(ranks->argv, std::string(host_file_word), *path);
  return run_command({ranks->argv, ranks->environment}, job, STDIN_FILENO, ranks->written,
                     [](pid_t mpirun, int signal) { process::signal_process(mpirun, signal); });
}

int become_contained(const plan::Options& options, const Environment& environment) {
  plan::Job job;
  job.options = options;
  job.environment = environment;
  job.environment.unset(contained_rank_variable);
  job.place.node_name = hosts::host_name();
  const auto plan =
      plan::plan_rank(job, plan::program_of_rank(options, job.environment), job.environment, "");
  if (!plan) return give_up(plan.error());
  const auto& [argv, variables] = plan->command;
  const auto path = process::find_program(argv.front(), variables);
  if (!path) return give_up(fail(argv.front(), "there is no such program").error());
  const std::vector<std::string> entries = variables.entries();
  ::execve(path->c_str(), process::exec_pointers(argv).data(),
           process::exec_pointers(entries).data());
  return give_up(fail_errno("cannot start " + *path).error());
}

}  // namespace toprun::start
