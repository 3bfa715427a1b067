#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/job_options.h"
#include "cli/jobs/job_words.h"
#include "cli/options/container_options.h"
#include "cli/options/run_options.h"
#include "cli/options/split.h"
#include "cli/pods/running.h"
#include "cli/verbs/jobs/activation_check.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/run_verbs.h"
#include "engines/programs.h"
#include "engines/queue.h"
#include "engines/slurm/defaults.h"
#include "engines/slurm/script.h"
#include "engines/slurm/submit.h"
#include "machine/container/container.h"
#include "machine/container/image.h"
#include "machine/container/prepare.h"
#include "node/plan/activation.h"
#include "node/plan/container_plan.h"
#include "node/plan/login_orders.h"

namespace toprun::cli {
namespace {

// The environment in which the shell starts.
struct ShellPlace {
  plan::Activation activation;
  container::Request container;
};

std::vector<std::string> options_for(const plan::Activation& activation) {
  std::vector<std::string> words;
  if (!activation.modules.empty()) words.push_back("--modules=" + join(activation.modules, ","));
  if (!activation.before.empty()) words.push_back("--before=" + activation.before);
  if (!activation.conda.empty()) words.push_back("--conda=" + activation.conda);
  if (!activation.venv.empty()) words.push_back("--venv=" + activation.venv);
  for (const auto& [name, value] : activation.variables) {
    words.push_back("--env=" + name + (value ? "=" + *value : ""));
  }
  return words;
}

// Returns only the reason why it could not.
Error become(const std::vector<std::string>& argv, const Environment& environment) {
  const auto program = process::find_program(argv.front(), environment);
  if (!program)
    return {argv.front(), "there is no such program", "set SHELL to the path of a shell"};
  const std::vector<std::string> entries = environment.entries();
  ::execve(program->c_str(), process::exec_pointers(argv).data(),
           process::exec_pointers(entries).data());
  return fail_errno(errno, "cannot start " + *program).error();
}

// The command that starts the shell on a job's node. The command is the shell itself, or a toprun
// that sets up the environment on the node and then executes the shell. Error: toprun's own path is
// unknown.
Result<std::vector<std::string>> entry_command(const std::string& shell, const ShellPlace& place) {
  const bool plain = place.container.empty() && place.container.environment.empty();
  if (place.activation.empty() && plain) return std::vector{shell};
  const auto self = TRY(process::own_path());
  std::vector<std::string> command = {
      "env", fmt::format("{}={}", plan::entered_shell_variable, shell), self.string(), "shell"};
  for (std::string& word : options_for(place.activation)) command.push_back(std::move(word));
  for (std::string& word : options::container_words(place.container))
    command.push_back(std::move(word));
  return command;
}

// On the node: executes the shell, or the container runtime that starts the shell in a container.
// Returns only if the environment cannot be set up or exec fails.
Error enter_shell(const std::string& shell, const ShellPlace& place,
                  const Environment& environment) {
  const std::string host = hosts::host_name();
  const bool in_container = !place.container.empty();
  plan::Activation requested = place.activation;
  if (in_container) requested.venv = requested.conda = {};  // entered inside
  auto activated = plan::activate(requested, environment, host);
  if (!activated) return activated.error();
  activated->environment.unset(plan::entered_shell_variable);
  if (!in_container) return become({shell}, activated->environment);
  const bool on_terminal = ::isatty(STDIN_FILENO) == 1;
  const auto plan = plan::plan_shell(place.container, place.activation.venv, activated->environment,
                                     host, on_terminal);
  if (!plan) return plan.error();
  const auto prepared =
      container::prepare(*plan->runtime, plan->run, plan->node, activated->environment,
                         [](const auto& line) { say(line); });
  if (!prepared) return prepared.error();
  return become(plan->command.argv, plan->command.environment);
}

namespace fs = std::filesystem;

// The line by which salloc reports that the shell is about to start.
constexpr std::string_view salloc_grant = "Granted job allocation";

std::string shell_of(const Environment& environment) {
  return environment.non_empty("SHELL").value_or("/bin/bash");
}

std::string not_running_text(const engines::Queue& queue, const engines::Job& job) {
  if (has_ended(job.state)) return jobs::end_text(queue, job);
  return fmt::format("{}: {}", job.state_word, queue.state_words(job.state_word));
}

// How srun names a running job: a task of an array has a number of its own, a component of a
// heterogeneous job has not.
std::vector<std::string> step_words(const engines::Job& job) {
  if (job.het_leader.empty()) return {"--jobid=" + job.number};
  const std::size_t plus = job.id.find('+');
  const std::string component = plus == std::string::npos ? "0" : job.id.substr(plus + 1);
  return {"--jobid=" + job.het_leader, "--het-group=" + component};
}

Result<std::vector<std::string>> words_for_srun(const std::string& text,
                                                const Environment& environment) {
  const auto queue = TRY(engines::find_queue(environment));
  const auto jobs = TRY(jobs::jobs_of(*queue, text));
  std::vector<const engines::Job*> running;
  std::vector<std::string> ids;
  for (const engines::Job& job : jobs) {
    if (job.state != engines::JobState::running) continue;
    running.push_back(&job);
    ids.push_back(job.id);
  }
  const std::string what = "--attach " + text;
  if (running.size() > 1 && running.front()->het_leader.empty()) {
    return several_tasks(what, std::move(ids));
  }
  if (!running.empty()) return step_words(*running.front());
  return fail(what, "the job is not running: " + not_running_text(*queue, jobs.front()),
              "see toprun status " + text);
}

int attach(const jobs::SubmitOptions& options, const std::vector<std::string>& shell,
           bool has_slurm, const Environment& environment) {
  for (const std::string& note : options.notes) say(note);
  const std::vector<std::string> plain = {"--jobid=" + *options.attach};
  const auto words = has_slurm ? words_for_srun(*options.attach, environment)
                               : Result<std::vector<std::string>>(plain);
  if (!words) return give_up(words.error());
  const auto command = engines::attach_command(*words, shell);
  if (options.dry_run != jobs::DryRun::no) return print_bytes(shown_command(command) + '\n');
  // srun does not report its start, so earlier errors look like later ones.
  const auto ended = engines::run_on_terminal(command, environment, {});
  return ended ? ended->code : give_up(ended.error());
}

int allocate(const jobs::SubmitOptions& options, const std::vector<std::string>& shell,
             const engines::SlurmFacts& facts, const Environment& environment) {
  const auto command = engines::salloc_command(options.request, shell);
  if (options.dry_run != jobs::DryRun::no) return print_bytes(shown_command(command) + '\n');
  if (options.verbose) say("running: " + shown_command(command));
  const auto ended = engines::run_on_terminal(command, environment, salloc_grant);
  if (!ended) return give_up(ended.error());
  if (ended->granted) return ended->code;
  return give_up(
      engines::refusal(ended->errors, options.request, facts, engines::ask_choices(environment)));
}

void tell_reasons(const jobs::SubmitOptions& options) {
  for (const engines::JobOption& option : options.request.options) {
    if (option.reason.empty()) continue;
    say(fmt::format("{}{}: {}", option.name, option.value ? " " + *option.value : "",
                    option.reason));
  }
}

// A relative folder is relative to the directory in which the shell begins.
void make_absolute(std::string& folder, const engines::JobRequest& request) {
  if (folder.empty()) return;
  const engines::JobOption* chdir = request.find("--chdir");
  std::error_code error;
  const fs::path here = fs::absolute(chdir != nullptr ? *chdir->value : ".", error);
  if (!error) folder = (here / folder).lexically_normal().string();
}

// An environment that is entered inside a container is not here.
Result<void> check_shell_surroundings(jobs::SubmitOptions& options,
                                      const Environment& environment) {
  container::Request requested = options.container;
  if (auto done = options::complete(requested, environment, options.notes); !done) return done;
  if (requested.empty()) {
    return check_activation(options.activation, options.request, environment, options.notes);
  }
  return container::check_image_file(requested.image, hosts::host_name(), "");
}

int open_shell(const options::Split& split, const Environment& environment) {
  auto options = jobs::shell_options(split, environment);
  if (!options) return give_up(options.error());
  plan::Activation& activation = options->activation;
  make_absolute(activation.venv, options->request);
  if (activation.conda.find('/') != std::string::npos) {
    make_absolute(activation.conda, options->request);
  }
  // The node reads the same words again, including an EDF.
  const auto shell = entry_command(shell_of(environment), {activation, options->container});
  if (!shell) return give_up(shell.error());
  const Environment clean = engines::without_job(environment);
  if (const auto limit = engines::engine_timeout_of(clean); !limit) {
    return give_up(limit.error());
  }
  const bool has_slurm = process::find_program("salloc", clean).has_value();
  if (!has_slurm && options->dry_run == jobs::DryRun::no)
    return give_up(engines::no_slurm("salloc"));
  if (const auto there = check_shell_surroundings(*options, clean); !there) {
    return give_up(there.error());
  }
  if (options->attach) return attach(*options, *shell, has_slurm, clean);
  if (const auto job = engines::surrounding_job(environment)) {
    return give_up({fmt::format("this shell is already inside job {}", *job),
                    "a second allocation would wait for this allocation to end",
                    "toprun SCRIPT uses this job's nodes; for another allocation, leave this shell",
                    exit_usage});
  }
  const engines::SlurmFacts facts =
      has_slurm ? engines::ask_slurm(clean, options->notes) : engines::SlurmFacts{};
  const auto added =
      engines::add_defaults(options->request, facts, engines::Purpose::shell, options->notes);
  if (!added) return give_up(added.error());
  for (const std::string& note : options->notes) say(note);
  if (options->verbose || options->dry_run != jobs::DryRun::no) tell_reasons(*options);
  return allocate(*options, *shell, facts, clean);
}

// An `on` in toprun.toml is for submissions: where Slurm is, it takes no allocation of Slurm from a
// shell, and a number stays the id of a Slurm job.
bool decides(const options::Argument& on, const Environment& environment) {
  return on.is_typed() || on.from_variable || !process::find_program("salloc", environment);
}

// The job of --attach if it is a job of pods. Its engine is the one that --on or TOPRUN_ON names;
// otherwise the form of the id tells: a number is Slurm's, a name is not.
Result<std::optional<std::string>> job_of_pods(const options::Call& call,
                                               const std::optional<options::Argument>& on) {
  const auto job = call.text(options::FlagId::attach);
  const auto engine = on ? engines::queue_kind(on->value) : std::nullopt;
  const bool is_for_setup = on && on->value == "local";
  if (on && !engine && !is_for_setup) {
    return std::unexpected(engines::unknown_engine(on->label(), on->value));
  }
  if (engine && decides(*on, call.environment)) {
    if (engine == engines::QueueKind::slurm) return std::nullopt;
    if (job) return job;
    return usage(on->label(), "in Kubernetes and Run:AI, a shell opens only in a running job",
                 fmt::format("give --attach JOB; toprun submit --on {} --interactive starts pods "
                             "that sleep",
                             on->value));
  }
  if (!job) return std::nullopt;
  const auto id = engines::parse_job_id(job->substr(0, job->find('/')));
  return id && id->number.empty() ? job : std::nullopt;
}

// On the job's node: what files say has been said on the command line.
int enter(const std::string& shell, const options::Split& split, const Environment& environment) {
  const auto activation = options::activation_options(split, environment);
  if (!activation) return give_up(activation.error());
  std::vector<std::string> notes;  // were said where the shell was asked for
  auto container = options::container_options(split, environment, notes);
  if (!container) return give_up(container.error());
  if (const auto done = options::complete(*container, environment, notes); !done) {
    return give_up(done.error());
  }
  return give_up(enter_shell(shell, {*activation, *container}, environment));
}

}  // namespace

Result<int> run_shell(const options::Call& call) {
  const auto shell = call.environment.non_empty(plan::entered_shell_variable);
  if (shell) return enter(*shell, call.split, call.environment);
  const auto on = call.argument(options::FlagId::on);
  if (const auto job = TRY(job_of_pods(call, on))) {
    const bool dry_run = call.has(options::FlagId::job_dry_run);
    return pods::open_pod_shell(*job, dry_run, call.environment);
  }
  Environment of_slurm = call.environment;
  if (on && !decides(*on, call.environment)) of_slurm.unset("TOPRUN_ON");
  return open_shell(call.split, of_slurm);
}

}  // namespace toprun::cli
