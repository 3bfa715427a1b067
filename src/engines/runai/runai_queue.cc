#include "engines/runai/runai_queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/machines.h"
#include "engines/pod_queue.h"
#include "engines/programs.h"
#include "engines/runai/runai_jobs.h"

namespace toprun::engines {
namespace runai {
namespace {

constexpr std::string_view program = "runai";

// Both programs' words, and those of the servers behind them.
constexpr std::array advices = {
    Advice{"already exists", "choose another --job-name, or leave it out"},
    Advice{"login", "log in: runai login"},
    Advice{"logged in", "log in: runai login"},
    Advice{"Unauthorized", "log in: runai login"},
    Advice{"token", "log in: runai login"},
    Advice{"unknown flag",
           "runai has another version than toprun detected: set TOPRUN_RUNAI_CLI to v1 or v2"},
    Advice{"unknown command",
           "runai has another version than toprun detected: set TOPRUN_RUNAI_CLI to v1 or v2"},
    Advice{"project", "runai list projects lists your projects, --project chooses one"},
};

// Without v2's notice about old options, which would stand before its JSON.
Environment quiet(const Environment& environment) {
  Environment out = environment;
  out.set("SUPPRESS_DEPRECATION_MESSAGE", "true");
  return out;
}

Result<process::Finished> ask(const Words& words, const Environment& environment,
                              std::chrono::milliseconds limit) {
  auto finished = process::run(words, quiet(environment), limit);
  if (finished) return finished;
  return fail("cannot ask Run:AI", finished.error()->why,
              "check with runai list that Run:AI answers; set TOPRUN_ENGINE_TIMEOUT=SECONDS to "
              "wait longer");
}

// v1 writes some of its errors to stdout.
std::string_view said(const process::Finished& finished) {
  return finished.err.empty() ? std::string_view(finished.out) : std::string_view(finished.err);
}

class RunaiQueue : public PodQueue {
 public:
  RunaiQueue(const Environment& environment, std::chrono::milliseconds timeout, Client client)
      : PodQueue(environment, timeout), client_(std::move(client)) {}

  QueueKind kind() const override { return QueueKind::runai; }
  std::string_view engine_in_words() const override { return "Run:AI"; }
  // Of the project: Run:AI's names of users are not those of this host.
  Result<JobList> jobs(std::optional<std::uint32_t> uid) const override {
    auto jobs = TRY(all(!uid));
    std::erase_if(jobs, [](const Job& job) { return has_ended(job.state); });
    return JobList{std::move(jobs), {}};
  }
  Result<std::vector<Job>> find(const JobId& id) const override {
    const auto answer = TRY(ask(describe_command(client_, id.text), environment_, timeout_));
    if (answer.code != 0) {
      const std::string_view words = said(answer);
      const bool is_absent = words.contains("not found") || words.contains("does not exist");
      if (is_absent) return std::vector<Job>();
      return std::unexpected(refusal("runai describe", words, advices));
    }
    auto job = TRY(parse_description(answer.out));
    if (client_.cli == Cli::v1 && job.state == JobState::pending) add_reason(job);
    job.uid = ::getuid();
    count_time_since(job, job.submitted);
    return std::vector<Job>{std::move(job)};
  }
  Result<JobList> ended(std::uint32_t) const override {
    auto jobs = TRY(all(false));
    std::erase_if(jobs, [](const Job& job) { return !has_ended(job.state); });
    return JobList{std::move(jobs), {}};
  }
  Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                  const std::string& signal,
                                                  Addressee) const override {
    if (!signal.empty()) {
      return fail("--signal " + signal,
                  "Run:AI cannot send a signal to a job; it can only end the job",
                  "leave --signal out, or use runai exec");
    }
    if (ids.size() != 1) {
      return fail(fmt::format("{} jobs", ids.size()), "Run:AI can end only one job per command",
                  "name one job");
    }
    return delete_command(client_, ids.front());
  }
  Result<std::vector<std::string>> execute(const std::vector<std::string>& command) const override {
    const auto answer = TRY(ask(command, environment_, timeout_));
    if (answer.code == 0) return std::vector<std::string>();
    return std::unexpected(refusal("runai delete", said(answer), advices));
  }
  // Nodes are often not a researcher's to list: what is refused is left out and said.
  Result<Machines> machines() const override {
    Machines machines;
    machines.partition_word = "POOL";
    machines.queue_word = "PROJECT";
    machines.usage_known = client_.cli == Cli::v1;
    machines.nodes = TRY(reported(nodes_command(client_), parse_nodes, machines));
    machines.partitions = kubernetes::pools_of(machines.nodes);
    if (!machines.usage_known && !machines.nodes.empty()) {
      machines.untold.emplace_back("`runai node list` does not list the GPUs in use");
    }
    machines.queues = TRY(reported(projects_command(client_), parse_projects, machines));
    return machines;
  }
  std::string reason_words(const Job& job) const override {
    return std::string(runai::state_words(job.reason));
  }
  std::string state_words(std::string_view state_word) const override {
    return std::string(runai::state_words(state_word));
  }
  std::string forgets(const JobId& id) const override {
    return fmt::format("Run:AI has no PyTorch job {} in {}", id.text,
                       client_.project.empty() ? "this project" : "project " + client_.project);
  }
  std::optional<std::vector<std::string>> log_command(const Job& job, bool follow,
                                                      const Printer*) const override {
    return logs_command(client_, job.id, std::nullopt, follow);
  }
  Result<std::vector<JobPod>> pods(const Job& job) const override {
    const auto answer = TRY(ask(describe_command(client_, job.id), environment_, timeout_));
    if (answer.code == 0) return parse_pods(answer.out);
    return std::unexpected(refusal("runai describe", said(answer), advices));
  }
  std::vector<std::string> exec_command(const Job& job, const JobPod& pod,
                                        Terminal terminal) const override {
    return runai::exec_command(client_, job.id, pod.name, terminal == Terminal::yes, {});
  }

 private:
  Result<std::vector<Job>> all(bool of_all_projects) const {
    const auto answer = TRY(ask(list_command(client_, of_all_projects), environment_, timeout_));
    if (answer.code != 0) return std::unexpected(refusal("runai list", said(answer), advices));
    return client_.cli == Cli::v1 ? parse_table(answer.out) : parse_list(answer.out);
  }
  // v1's JSON has no reasons, its text for people has. Without an answer the state's word remains.
  void add_reason(Job& job) const {
    const auto answer = ask(events_command(client_, job.id), environment_, timeout_);
    const std::string warning = answer ? last_warning(answer->out) : std::string();
    if (!warning.empty()) job.reason = warning;
  }
  template <class T>
  // runai's answer; nothing where it refuses or prints what we do not know, which is noted. Error:
  // it does not answer at all.
  Result<std::vector<T>> reported(const Words& command,
                                  Result<std::vector<T>> (*parse)(std::string_view, Cli),
                                  Machines& machines) const {
    const auto answer = TRY(ask(command, environment_, timeout_));
    auto parsed = answer.code == 0
                      ? parse(answer.out, client_.cli)
                      : std::unexpected(refusal(shell_quote(command), said(answer), advices));
    if (parsed) return parsed;
    machines.untold.push_back(parsed.error().line());
    return std::vector<T>();
  }

  const Client client_;
};

}  // namespace

Result<Client> find_client(const Environment& environment, std::chrono::milliseconds limit) {
  Client client;
  client.project = environment.get("TOPRUN_PROJECT").value_or("");
  const std::string reported = environment.get("TOPRUN_RUNAI_CLI").value_or("");
  if (reported == "v1" || reported == "v2") {
    client.cli = reported == "v1" ? Cli::v1 : Cli::v2;
    return client;
  }
  if (!reported.empty())
    return usage("TOPRUN_RUNAI_CLI=" + reported,
                 "toprun does not know this version of runai's command line",
                 "set the variable to v1 or v2");
  const auto answer = TRY(ask({std::string(program), "version"}, environment, limit));
  if (answer.code != 0) return std::unexpected(refusal("runai version", said(answer), advices));
  client.cli = cli_of(answer.out);
  return client;
}

void ask_flags(Client& client, const Environment& environment, std::chrono::milliseconds limit) {
  if (client.cli == Cli::v1) return;
  auto answer = ask(help_command(), environment, limit);
  if (answer && answer->code == 0 && answer->out.contains("--image")) {
    client.help = std::move(answer->out);
  }
}

Result<void> submit(const Words& command, const Environment& environment,
                    std::chrono::milliseconds limit) {
  const auto answer = TRY(ask(command, environment, limit));
  if (answer.code == 0) return {};
  return std::unexpected(refusal("runai submit", said(answer), advices));
}

}  // namespace runai

Result<std::unique_ptr<Queue>> runai_queue(const Environment& environment) {
  if (!process::find_program(std::string(runai::program), environment))
    return std::unique_ptr<Queue>();
  const auto timeout = TRY(engine_timeout_of(environment));
  auto client = TRY(runai::find_client(environment, timeout));
  return std::make_unique<runai::RunaiQueue>(environment, timeout, std::move(client));
}

}  // namespace toprun::engines
