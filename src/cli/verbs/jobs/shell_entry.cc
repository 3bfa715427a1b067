#include "cli/verbs/jobs/shell_entry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/options/container_options.h"
#include "machine/container/prepare.h"
#include "node/plan/container_plan.h"
#include "node/plan/login_orders.h"

namespace toprun::cli {
namespace {

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

}  // namespace

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

}  // namespace toprun::cli
