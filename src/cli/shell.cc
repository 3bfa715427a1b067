#include "cli/shell.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/job_options.h"
#include "cli/print.h"
#include "scheduler/slurm_defaults.h"
#include "scheduler/slurm_shell.h"
#include "scheduler/slurm_submit.h"
#include "scheduler/terminal_command.h"

namespace toprun::cli {
namespace {

// The words of salloc and srun by which it is known that the shell is about to begin.
constexpr std::string_view salloc_grant = "Granted job allocation";

std::string shell_of(const Environment& environment) {
  return environment.non_empty("SHELL").value_or("/bin/bash");
}

int attach(const SubmitOptions& options, const Environment& environment) {
  const auto command = scheduler::attach_command(*options.attach, shell_of(environment));
  if (options.dry_run != DryRun::no) return print(shell_quote(command) + '\n');
  // srun says nothing when it begins: errors before that cannot be told from later ones.
  const auto ended = scheduler::run_on_terminal(command, environment, {});
  return ended ? ended->code : give_up(ended.error());
}

int allocate(const SubmitOptions& options, const scheduler::SlurmFacts& facts,
             const Environment& environment) {
  const auto command = scheduler::salloc_command(options.request, shell_of(environment));
  if (options.dry_run != DryRun::no) return print(shell_quote(command) + '\n');
  if (options.verbose) say("running: " + shell_quote(command));
  const auto ended = scheduler::run_on_terminal(command, environment, salloc_grant);
  if (!ended) return give_up(ended.error());
  if (ended->granted) return ended->code;
  return give_up(scheduler::refusal(ended->errors, options.request, facts,
                                    scheduler::ask_choices(environment)));
}

void tell_reasons(const SubmitOptions& options) {
  for (const scheduler::JobOption& option : options.request.options) {
    if (option.reason.empty()) continue;
    say(fmt::format("{}{}: {}", option.name, option.value ? " " + *option.value : "",
                    option.reason));
  }
}

int act(const Split& split, const Environment& environment) {
  auto options = shell_options(split, environment);
  if (!options) return give_up(options.error());
  const Environment clean = scheduler::without_job(environment);
  const bool has_slurm = find_program("salloc", clean).has_value();
  if (!has_slurm && options->dry_run == DryRun::no) return give_up(scheduler::no_slurm("salloc"));
  if (options->attach) return attach(*options, clean);
  if (const auto job = scheduler::surrounding_job(environment)) {
    return give_up({fmt::format("inside job {} already", *job),
                    "an allocation in an allocation would wait for itself",
                    "toprun SCRIPT uses this job's nodes; leave this shell for another",
                    exit_usage});
  }
  const scheduler::SlurmFacts facts =
      has_slurm ? scheduler::ask_slurm(clean, options->notes) : scheduler::SlurmFacts{};
  const auto added =
      scheduler::add_defaults(options->request, facts, scheduler::Purpose::shell, options->notes);
  if (!added) return give_up(added.error());
  for (const std::string& note : options->notes) say(note);
  if (options->verbose || options->dry_run != DryRun::no) tell_reasons(*options);
  return allocate(*options, facts, clean);
}

}  // namespace

int run_shell(const std::vector<std::string>& arguments, const Environment& environment) {
  const auto split = split_verb(arguments, Dialect::shell);
  if (!split) return give_up(split.error());
  if (!split->options.empty()) {
    const FlagId last = split->options.back().flag->id;
    if (last == FlagId::help_short) return print(short_help(Dialect::shell));
    if (last == FlagId::help) return print(full_help(Dialect::shell));
  }
  const auto whole = with_config(*split, Dialect::shell, environment);
  if (!whole) return give_up(whole.error());
  return act(whole->split, whole->environment);
}

}  // namespace toprun::cli
