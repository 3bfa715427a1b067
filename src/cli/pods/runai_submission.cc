#include <fmt/format.h>

#include <random>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/follow.h"
#include "cli/options/call.h"
#include "cli/pods/runai_job.h"
#include "cli/pods/running.h"
#include "cli/pods/submission.h"
#include "engines/queue.h"
#include "engines/runai/runai_queue.h"

namespace toprun::pods {
namespace {

namespace runai = engines::runai;
using engines::kubernetes::Workload;

constexpr std::size_t random_letters = 5;

// Run:AI adds a number of its own to a beginning of a name, but does not say in a stated form
// which.
std::string unique_name(const std::string& beginning) {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";  // as Kubernetes chooses them
  std::random_device chance;
  std::uniform_int_distribution<std::size_t> which(0, letters.size() - 1);
  std::string name = beginning + '-';
  for (std::size_t i = 0; i < random_letters; ++i) name += letters[which(chance)];
  return name;
}

std::optional<options::Argument> argument(std::string_view name, const options::Split& split,
                                          const Environment& environment) {
  return options::argument_of(*options::find_flag(name, options::Command::submit), split,
                              environment);
}

// The environment with what the command line says of Run:AI, for all that ask it.
Environment surroundings(const options::Split& split, const Environment& environment) {
  Environment out = environment;
  for (const std::string_view name : {"--project", "--runai-cli"}) {
    const options::Flag& flag = *options::find_flag(name, options::Command::submit);
    const auto value = options::argument_of(flag, split, environment);
    if (value) out.set(std::string(flag.variable), value->value);
  }
  out.set("TOPRUN_ON", "runai");
  return out;
}

// What a dry run shows where there is no runai: v2's, which newer clusters have.
Result<runai::Client> client_of(const PodOptions& options, const Environment& environment,
                                std::chrono::milliseconds limit) {
  const bool is_there = process::find_program("runai", environment).has_value();
  if (is_there || environment.non_empty("TOPRUN_RUNAI_CLI")) {
    auto client = runai::find_client(environment, limit);
    if (client && is_there) runai::ask_flags(*client, environment, limit);
    return client;
  }
  if (options.dry_run == DryRun::no) {
    return fail("--on runai", "there is no runai in PATH",
                "install runai, or print the command with --dry-run");
  }
  say("runai is not in PATH, so toprun shows the command for runai v2; --runai-cli v1 shows the "
      "command for runai v1");
  return runai::Client{runai::Cli::v2, environment.get("TOPRUN_PROJECT").value_or("")};
}

int after_submission(const PodOptions& options, const Workload& job, const std::string& folder,
                     const Environment& environment) {
  const int printed = options.follow ? 0 : print(job.name + '\n');
  say(next_words(options, job.name));
  if (!folder.empty())
    say(fmt::format("the job's output is in {}, where %j stands for the job's JOB_UUID", folder));
  if (options.follow) {
    const auto code = follow_pods(job.name, {}, environment);
    return code ? *code : give_up(code.error());
  }
  return options.wait ? jobs::wait_for_job(job.name, environment, {}) : printed;
}

}  // namespace

std::string advice_on_a_secret(const std::string& name, const options::Split& split,
                               const Environment& environment) {
  const Environment there = surroundings(split, environment);
  const auto limit = engines::engine_timeout_of(there);
  const bool can_ask = process::find_program("runai", there) || there.non_empty("TOPRUN_RUNAI_CLI");
  auto client = limit && can_ask ? runai::find_client(there, *limit) : Result<runai::Client>();
  return runai::instead_of_a_secret(client ? *client : runai::Client{}, name);
}

int submit_to_runai(const PodOptions& options, const options::Split& split,
                    const Environment& environment) {
  if (options.dry_run == DryRun::server) {
    return give_up({"--dry-run=server", "Run:AI cannot check a job without starting it",
                    "use --dry-run", exit_usage});
  }
  if (options.as_json) {
    return give_up({"--dry-run=json",
                    "runai creates the job's object itself, so there is no JSON to print",
                    "use --dry-run", exit_usage});
  }
  const Environment there = surroundings(split, environment);
  const auto limit = engines::engine_timeout_of(there);
  if (!limit) return give_up(limit.error());
  const auto client = client_of(options, there, *limit);
  if (!client) return give_up(client.error());
  Workload job = options.job;
  if (!options.patch.empty()) {
    return give_up({"--patch " + options.patch,
                    "runai creates the job's object itself, so toprun cannot change it",
                    "leave --patch out", exit_usage});
  }
  if (const auto word = word_with_secret(job.command)) {
    return give_up({*word, "everyone on this host and in the project would see the secret",
                    runai::instead_of_a_secret(*client, "NAME"), exit_usage});
  }
  if (job.name_is_beginning) job.name = unique_name(job.name);
  const bool is_kept_elsewhere =
      argument("--node-log", split, environment) || argument("--report", split, environment);
  // Plain words, which reach the pods as they are without a toprun that unpacks them.
  if (options.interactive) job.command = {"sleep", "infinity"};
  const bool prints = !options.interactive && !is_kept_elsewhere;
  const std::string folder = prints ? keep_output(job) : std::string();
  if (!options.interactive) {
    count_one_failure(job);
    count_ranks(job);
  }
  const std::vector<std::string> words = job.command;
  if (const auto plain = make_plain(job); !plain) return give_up(plain.error());
  const auto command = runai::submit_command(*client, job);
  if (!command) return give_up(command.error());
  for (const std::string& note : options.notes) say(note);
  if (options.dry_run == DryRun::client) {
    if (job.command != words) say("in the pods: " + shell_quote(words));
    return print_bytes(shown_command(*command) + '\n');
  }
  if (const auto done = runai::submit(*command, there, *limit); !done) return give_up(done.error());
  return after_submission(options, job, folder, there);
}

}  // namespace toprun::pods
