#include "node/launch/mpi_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/pool.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "decide/topology/source.h"
#include "engines/allocation.h"
#include "engines/mpi/mpirun.h"
#include "node/agent/ending.h"
#include "node/agent/publish/report_file.h"
#include "node/output/tail.h"
#include "node/plan/arrange.h"
#include "node/plan/container_plan.h"
#include "node/plan/login_orders.h"
#include "observe/report/report.h"
#include "run/model/exit.h"

namespace toprun::launch {
namespace {

constexpr std::size_t longest_exception_bytes = 500;
constexpr int code_of_a_signal = 128;
constexpr std::string_view advice_for_variables =
    "--launcher mpirun does not set RANK, LOCAL_RANK, WORLD_SIZE or MASTER_ADDR: leave out "
    "--launcher mpirun, or use --via mpirun";

bool names_an_error(std::string_view exception) {
  const std::string_view type = exception.substr(0, exception.find(':'));
  const bool is_name = std::ranges::all_of(type, [](char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
  });
  return is_name && (type.ends_with("Error") || type.ends_with("Exception"));
}

// One of the variables by which torchrun tells a rank its place: as torch's env:// words it
// (torch/distributed/rendezvous.py), as os.environ[…] does, and as scripts write that check it.
bool misses_a_variable(std::string_view exception) {
  constexpr std::array names = {"RANK",        "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                "MASTER_ADDR", "MASTER_PORT"};
  return std::ranges::any_of(names, [&](const char* name) {
    return exception == fmt::format("KeyError: '{}'", name) ||
           exception.contains(fmt::format("environment variable {} expected", name)) ||
           exception.contains(fmt::format("{} is not set", name));
  });
}

// What Python says of a program that it does not find; empty: nothing.
std::string missing_program(std::string_view said) {
  for (const std::string_view line : split(said, '\n')) {
    if (model::tells_of_a_missing_program(trim(line))) return std::string(trim(line));
  }
  return {};
}

// The last line, if a script ended itself with it because a variable is not set; else empty.
std::string missing_variable(std::string_view said) {
  const std::string_view all = trim(said);
  const std::string_view last = trim(all.substr(all.rfind('\n') + 1));
  return misses_a_variable(last) ? std::string(last) : std::string();
}

// A rank that mpirun has ended within its traceback shows no exception, but others before it may.
std::string last_error(std::string_view said) {
  constexpr std::string_view traceback = "Traceback (most recent call last):";
  const std::string_view all = said;
  for (;;) {
    const std::string exception = output::last_exception(said);
    std::string line = exception.substr(0, exception.find('\n'));
    if (names_an_error(line)) return line;
    const std::size_t last = said.rfind(traceback);
    if (last == said.npos) {
      std::string program = missing_program(all);
      return program.empty() ? missing_variable(all) : program;
    }
    said = said.substr(0, last);
  }
}

MpiFailure failure_of(std::optional<int> rank, const std::string& error) {
  return {rank, std::nullopt, last_state(error, longest_exception_bytes),
          std::string(misses_a_variable(error) ? advice_for_variables : "")};
}

MpiFailure failure_of(int rank, std::string_view said) {
  MpiFailure failure = failure_of(std::optional(rank), last_error(said));
  std::vector<std::string_view> lines = split(said, '\n');
  std::erase_if(lines, [](std::string_view line) { return trim(line).empty(); });
  const std::size_t shown = std::min(lines.size(), model::last_output_lines);
  for (std::size_t i = lines.size() - shown; i < lines.size(); ++i) {
    failure.last_lines.emplace_back(last_state(lines[i], longest_exception_bytes));
  }
  return failure;
}

// The nodes as agents would report them.
std::vector<model::Join> members_of(const plan::Job& job, const engines::Allocation& place) {
  std::vector<model::Join> members;
  const auto count = std::min(place.nodes.size(), static_cast<std::size_t>(place.node_count));
  for (std::size_t i = 0; i < count; ++i) {
    model::Join join;
    join.host = place.nodes[i].name;
    join.nnodes = job.nnodes;
    const bool asked = !job.options.nproc_per_node.value.empty();
    join.slots = asked ? job.nproc : place.nodes[i].slots.value_or(job.nproc);
    join.node_index = static_cast<int>(i);
    members.push_back(std::move(join));
  }
  return members;
}

Result<topology::Map> map_of(const plan::Job& job, const std::vector<model::Join>& members) {
  if (!job.locates()) return topology::Map{};
  topology::Request request{job.options.topology, {}, job.environment};
  for (const model::Join& join : members) request.members.push_back({join.host, {}, {}});
  return topology::locate(std::move(request));
}

// What the ranks need of this environment: what agents need, and what was activated for them.
std::vector<std::string> variables_for_ranks(const plan::Job& job) {
  std::vector<std::string> requested = {"PATH", "LD_LIBRARY_PATH", "LOADEDMODULES", "_LMFILES_"};
  for (const auto& [name, value] : job.options.activation.variables) requested.push_back(name);
  for (const auto& [name, value] : job.environment.variables()) {
    if (name.starts_with("HOROVOD_")) requested.push_back(name);
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : plan::passed_variables(job.environment, requested))
    names.push_back(name);
  return names;
}

// In a Slurm job mpirun takes as many slots as the header asked tasks for, which is one per node
// for a job of agents.
void set_slots(MpiRanks& ranks, const engines::Allocation& place) {
  if (!ranks.environment.has("SLURM_TASKS_PER_NODE")) return;
  std::vector<int> slots;
  for (const engines::Node& node : place.nodes) {
    const auto count = std::ranges::count(ranks.hosts, node.name);
    slots.push_back(std::max(1, static_cast<int>(count)));
  }
  ranks.environment.set("SLURM_TASKS_PER_NODE", engines::count_list_text(slots));
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
    if (!write_all(file.get(), text)) return fail_errno("cannot write " + path_);
    return path_;
  }

 private:
  std::string path_;
};

// Consecutive ranks of a host are one node.
std::vector<model::NodeRecord> nodes_of(const std::vector<std::string>& hosts) {
  std::vector<model::NodeRecord> nodes;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (nodes.empty() || nodes.back().name.raw() != hosts[rank]) {
      const int number = static_cast<int>(nodes.size());
      nodes.push_back({hosts[rank], number, static_cast<int>(rank), 0, {}});
    }
    ++nodes.back().nproc;
  }
  return nodes;
}

model::Cause cause_of(const run::EngineAnswered::Stop& stop) {
  model::Cause cause;
  cause.kind = stop.kind;
  cause.message = stop.words;
  return cause;
}

std::optional<model::Cause> cause_of(const MpiFailure& failure, int exit_code,
                                     const std::vector<std::string>& hosts) {
  if (!failure.is_known()) return std::nullopt;
  model::Cause cause;
  cause.kind = failure.signal ? model::CauseKind::signal : model::CauseKind::exit;
  cause.signal = failure.signal;
  if (!failure.signal) cause.exit_code = exit_code;
  if (failure.rank && *failure.rank < std::ssize(hosts)) {
    cause.rank = failure.rank;
    cause.node = hosts[static_cast<std::size_t>(*failure.rank)];
  }
  cause.message = failure.advice.empty() ? failure.exception
                                         : fmt::format("{}; {}", failure.exception, failure.advice);
  cause.last_output = failure.last_lines;
  return cause;
}

// Of a run that mpirun itself could not start or end.
model::Cause cause_of(const Error& trouble) {
  model::Cause cause;
  cause.kind = model::CauseKind::launcher;
  cause.message = trouble.line();
  return cause;
}

// Of a run that this process was asked to end.
model::Cause cause_of_signal(int signal) {
  model::Cause cause;
  cause.kind = model::CauseKind::interrupted;
  cause.signal = signal;
  return cause;
}

// What mpirun's own messages above come to.
std::string line_on(const std::optional<model::Cause>& cause, int exit_code) {
  if (cause) {
    const bool is_said = !cause->message.empty() || cause->last_output.empty();
    return model::short_text(*cause) +
           (is_said ? std::string() : fmt::format("; it said: {}", cause->last_output.back())) +
           (cause->next.empty() ? std::string() : fmt::format("; {}", cause->next));
  }
  return fmt::format("mpirun ended with exit code {}; see mpirun's messages above for the reason",
                     exit_code);
}

// The report of a run whose end is all that mpirun tells.
class MpiReport {
 public:
  MpiReport(const plan::Job& job, const std::vector<std::string>& hosts)
      : file_(pool_, job.options.report, engines::requeues(job.environment) > 0) {
    record_.job = job.name;
    record_.title = publish::title_of(job);
    record_.program = job.options.script;
    record_.root_host = hosts::host_name();
    record_.root_pid = ::getpid();
    record_.started = std::chrono::system_clock::now();
    record_.running_at = record_.started;
    model::AttemptRecord attempt;
    attempt.started = record_.started;
    attempt.nodes = nodes_of(hosts);
    record_.attempts.push_back(std::move(attempt));
    file_.keep(record_);
  }

  void has_no_ranks() { record_.attempts.back().nodes.clear(); }

  // `cause`: unset on success, and where nothing shows it.
  void finish(int exit_code, std::optional<model::Cause> cause) {
    record_.running_at.reset();
    record_.exit_code = exit_code;
    record_.ended = std::chrono::system_clock::now();
    model::AttemptRecord& attempt = record_.attempts.back();
    attempt.ended = record_.ended;
    attempt.cause = std::move(cause);
    say_block(report::last_line(record_));
    boost::asio::co_spawn(io_, file_.finish(record_), boost::asio::detached);
    io_.run();
  }

 private:
  boost::asio::io_context io_{1};
  Pool pool_{io_};
  publish::ReportFile file_;
  model::RunRecord record_;
};

}  // namespace

MpiFailure mpi_failure(std::string_view said) {
  const auto texts = engines::texts_by_rank(said);
  const auto text_of = [&](int rank) {
    const auto found = texts.find(rank);
    return found == texts.end() ? std::string_view() : std::string_view(found->second);
  };
  if (const auto killed = engines::killed_rank(text_of(engines::by_mpirun))) {
    MpiFailure failure = failure_of(killed->rank, text_of(killed->rank));
    failure.signal = killed->signal;
    return failure;
  }
  const auto first = engines::first_to_fail(text_of(engines::by_mpirun));
  if (first) return failure_of(*first, text_of(*first));
  for (const auto& [rank, text] : texts) {
    if (const std::string error = last_error(text); !error.empty()) {
      return failure_of(std::nullopt, error);
    }
  }
  return {};
}

Result<MpiRanks> mpi_ranks(const plan::Job& job) {
  auto mpirun = TRY(engines::find_mpirun(job.environment));
  const auto place = TRY(plan::needed_nodes(job));
  const auto members = members_of(job, place);
  const auto map = TRY(map_of(job, members));
  const auto arranged = TRY(plan::arrange(members, job.options, map));
  for (const std::string& warning : arranged.order.warnings) say(warning);
  MpiRanks ranks;
  for (const std::size_t member : arranged.nodes) {
    ranks.hosts.insert(ranks.hosts.end(), static_cast<std::size_t>(members[member].slots),
                       members[member].host);
  }
  ranks.environment = job.environment;
  set_slots(ranks, job.place);
  mpirun.as_root = ::geteuid() == 0;
  mpirun.variables = variables_for_ranks(job);
  mpirun.argv = job.in_container() ? contained_rank(job) : job.program;
  if (engines::tags_output(mpirun)) ranks.written = Written::tagged;
  ranks.argv = engines::mpirun_ranks(mpirun, host_file_word, static_cast<int>(ranks.hosts.size()));
  return ranks;
}

int run_mpi_ranks(const plan::Job& job) {
  auto ranks = mpi_ranks(job);
  if (!ranks) return give_up(ranks.error());
  if (job.options.verbose > 0) {
    say("hosts by rank: " + join(ranks->hosts, " "));
    say("starting ranks: " + shown_command(ranks->argv));
  }
  HostFile file;
  const auto path = file.write(job.environment, join(ranks->hosts, "\n") + "\n");
  if (!path) return give_up(path.error());
  std::ranges::replace(ranks->argv, std::string(host_file_word), *path);
  MpiReport report(job, ranks->hosts);
  const CommandEnd end =
      run_command({ranks->argv, ranks->environment}, job, STDIN_FILENO, ranks->written,
                  [](pid_t mpirun, int signal) { process::signal_process(mpirun, signal); });
  const auto reported =
      end.exit_code == 0 ? run::EngineAnswered{} : agent::why_stopped(job.environment);
  if (reported.stop) {
    report.finish(reported.stop->exit_code, cause_of(*reported.stop));
    return reported.stop->exit_code;
  }
  // What ranks say that were asked to end is not why they ended.
  if (end.exit_code != 0 && end.asked_by) {
    const int exit_code = code_of_a_signal + *end.asked_by;
    report.finish(exit_code, cause_of_signal(*end.asked_by));
    return exit_code;
  }
  const bool failed = end.exit_code != 0;
  const MpiFailure failure = failed ? mpi_failure(end.said) : MpiFailure{};
  auto cause = cause_of(failure, end.exit_code, ranks->hosts);
  if (cause && cause->message.raw().contains("No module named ")) {
    cause->program = job.program.front();
    cause->next = report::advice(*cause, false);
  }
  const auto trouble = failed ? engines::mpirun_trouble(end.said) : std::nullopt;
  // run_command() has already reported a trouble of mpirun itself.
  if (failed && (cause || !trouble)) say(line_on(cause, end.exit_code));
  if (!cause && trouble) {
    cause = cause_of(*trouble);
    const bool is_tagged = ranks->written == Written::tagged;
    const auto texts = engines::texts_by_rank(end.said);
    const auto own = texts.find(engines::by_mpirun);
    if (is_tagged && own != texts.end() && engines::no_rank_began(own->second)) {
      report.has_no_ranks();
    }
  }
  report.finish(end.exit_code, std::move(cause));
  return end.exit_code;
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

}  // namespace toprun::launch
