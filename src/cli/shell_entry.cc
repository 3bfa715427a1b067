#include "cli/shell_entry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/process.h"
#include "base/text.h"
#include "hosts/address.h"

namespace toprun::cli {
namespace {

std::vector<std::string> options_for(const launch::Activation& activation) {
  std::vector<std::string> words;
  if (!activation.modules.empty()) words.push_back("--modules=" + join(activation.modules, ","));
  if (!activation.conda.empty()) words.push_back("--conda=" + activation.conda);
  if (!activation.venv.empty()) words.push_back("--venv=" + activation.venv);
  for (const auto& [name, value] : activation.variables) {
    words.push_back("--env=" + name + (value ? "=" + *value : ""));
  }
  return words;
}

}  // namespace

Result<std::vector<std::string>> entry_command(const std::string& shell,
                                               const launch::Activation& activation) {
  if (activation.empty()) return std::vector{shell};
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail("toprun's own path", error.message(), "mount /proc");
  std::vector<std::string> command = {"env", fmt::format("{}={}", entered_shell_variable, shell),
                                      self.string(), "shell"};
  for (std::string& word : options_for(activation)) command.push_back(std::move(word));
  return command;
}

Error enter_shell(const std::string& shell, const launch::Activation& activation,
                  const Environment& environment) {
  auto activated = launch::activate(activation, environment, hosts::host_name());
  if (!activated) return activated.error();
  activated->environment.unset(entered_shell_variable);
  const auto program = find_program(shell, activated->environment);
  if (!program) return {fmt::format("shell {}", shell), "there is no such program", "set SHELL"};
  std::vector<std::string> entries = activated->environment.entries();
  std::vector<char*> variables;
  for (std::string& entry : entries) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string name = shell;
  char* const argv[] = {name.data(), nullptr};
  ::execve(program->c_str(), argv, variables.data());
  return fail_errno(errno, "cannot start " + *program).error();
}

}  // namespace toprun::cli
