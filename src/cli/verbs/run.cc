#include "cli/verbs/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "base/os/console.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "cli/config/config.h"
#include "cli/options/container_options.h"
#include "cli/options/run_options.h"
#include "cli/options/values.h"
#include "cli/verbs/help/completion.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/verbs.h"
#include "engines/login/login.h"
#include "node/launch/launch.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"

namespace toprun::cli {
namespace {

int print_completion(const std::string& shell, bool called_torchrun) {
  const options::Flag& flag = options::flag_of(options::FlagId::print_completion);
  const auto chosen =
      options::parse_choice({std::string(flag.name), shell}, options::choices(flag));
  if (!chosen) return give_up(chosen.error());
  return print_bytes(
      completion(*chosen, called_torchrun, process::own_path().value_or("").string()));
}

// Words after --version are ignored, except for -v, which asks for details of the version.
bool says_verbose(const std::vector<std::string>& argv) {
  return std::ranges::any_of(
      argv, [](const std::string& word) { return word == "-v" || word == "--verbose"; });
}

// A first word that is neither a verb nor a file, but nearly a verb.
Result<void> check_verb(const options::Split& split, const std::vector<std::string>& argv) {
  if (split.called_torchrun() || !split.script || argv.size() < 2 || argv[1] != *split.script) {
    return {};
  }
  const std::string& word = *split.script;
  const bool is_a_name =
      std::ranges::all_of(lower(word), [](char c) { return c >= 'a' && c <= 'z'; });
  std::error_code error;
  if (!is_a_name || std::filesystem::exists(word, error)) return {};
  const auto verb = nearest_verb(lower(word));
  if (!verb) return {};
  return usage(word, "toprun has no verb with this name, and there is no such script here",
               fmt::format("did you mean toprun {}?", *verb));
}

// Prints the text of --help, --version and the like. nullopt: the command line asks for a run.
std::optional<int> answer(const options::Split& split, const std::vector<std::string>& argv) {
  if (split.options.empty()) return std::nullopt;
  const options::Command command =
      split.called_torchrun() ? options::Command::torchrun : options::Command::run;
  const options::ParsedOption& last = split.options.back();
  switch (last.flag->id) {
    case options::FlagId::help_short:
      return print(short_help(command));
    case options::FlagId::help:
      return print(full_help(command));
    case options::FlagId::version:
      return print(version_text() + (says_verbose(argv) ? version_details() : ""));
    case options::FlagId::print_completion:
      return print_completion(last.value, split.called_torchrun());
    default:
      return std::nullopt;
  }
}

// One of the processes of a launch, whose starter or first process tells.
bool is_one_of_several(const Environment& environment) {
  const bool is_ours = std::ranges::any_of(environment.variables(), [](const auto& variable) {
    return variable.first == "TOPRUN_STEP" || variable.first == "TOPRUN_ATTEMPT" ||
           variable.first.starts_with("TOPRUN_LOGIN_");
  });
  return is_ours ||
         std::ranges::any_of(
             std::array{"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"},
             [&](const char* name) { return environment.non_empty(name).value_or("0") != "0"; });
}

// Options that only a launcher has, in a script's arguments, where the launcher does not read them.
std::string note_of_options_behind(const options::Split& split) {
  constexpr std::array names = {"--nproc-per-node", "--nnodes", "--rdzv-endpoint", "--rdzv-backend",
                                "--max-restarts"};
  std::vector<std::string> found;
  for (const std::string& word : split.arguments) {
    if (word == "--") break;
    std::string name = word.substr(0, word.find('='));
    std::ranges::replace(name, '_', '-');
    if (std::ranges::find(names, name) != names.end()) found.push_back(word);
  }
  if (found.empty()) return {};
  const bool is_one = found.size() == 1;
  return fmt::format(
      "{} {} after the script, so {} to the script; write options of toprun before the script",
      printable(join(found, ", ")), is_one ? "comes" : "come",
      is_one ? "it belongs" : "they belong");
}

// What the command line probably did not mean.
void say_doubts(const options::Split& split, const std::vector<std::string>& argv,
                plan::Program program, const std::string& script, const Environment& environment) {
  std::error_code error;
  const std::string note =
      is_behind_dashes(split, argv) ? std::string() : note_of_options_behind(split);
  // Without the file, the option before it has lost its value: the error about the file says so.
  const bool has_script = program != plan::Program::script || is_file(script) || script == "-" ||
                          std::filesystem::is_directory(script, error);
  if (!note.empty() && has_script && program != plan::Program::executable) say(note);
  for (const options::ParsedOption& option : split.options) {
    const bool is_name = option.flag->id == options::FlagId::env && !option.value.contains('=');
    if (!is_name || environment.has(option.value)) continue;
    say(fmt::format("-e {}: the variable is not set here, so the ranks do not get it",
                    printable(option.value)));
  }
}

Result<int> launch(const options::Split& split, const std::vector<std::string>& argv,
                   const Environment& environment) {
  TRY(check_script_is_no_verb(split));
  TRY(check_verb(split, argv));
  const options::Command command =
      split.called_torchrun() ? options::Command::torchrun : options::Command::run;
  const auto whole = TRY(config::with_config(split, command, environment));
  const auto words = config::words_with_config(
      config::words_without_secrets(argv, split, whole.split), whole.split);
  auto parsed = TRY(options::run_options(whole.split, words, whole.environment, is_file));
  TRY(options::complete(parsed.options.container, whole.environment, parsed.notes));
  for (const std::string& note : parsed.notes) say(note);
  if (!is_one_of_several(environment))
    say_doubts(whole.split, argv, parsed.options.program, parsed.options.script, whole.environment);
  return launch::launch(parsed.options, whole.environment);
}

// Whether the command line has this error without any variable, setting or file of this host.
bool is_wrong_by_itself(const options::Split& split, const std::vector<std::string>& argv,
                        const Error& error) {
  if (error->exit_code != exit_usage) return false;
  const auto alone = options::run_options(split, argv, {}, [](const auto&) { return true; });
  return !alone && alone.error().line() == error.line();
}

// Completion shows its own text only.
void warn_of_variables(const std::vector<std::string>& argv, const Environment& environment) {
  const bool is_completion = argv.size() > 1 && argv[1] == "completion";
  if (options::is_torchrun(argv) || is_completion || is_one_of_several(environment)) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : environment.variables()) names.push_back(name);
  for (const std::string& warning : options::doubtful_variables(names)) {
    say("warning: " + warning);
  }
}

}  // namespace

bool is_behind_dashes(const options::Split& split, const std::vector<std::string>& words) {
  const std::size_t behind = split.arguments.size() + 1;
  return !split.arguments.empty() && words.size() > behind && words[words.size() - behind] == "--";
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
}

int run(const std::vector<std::string>& argv, const Environment& environment) {
  const auto split = options::split(argv);
  if (!split) return refuse_line(split.error(), environment);
  if (const auto code = answer(*split, argv)) return *code;
  const auto code = launch(*split, argv, environment);
  if (code) return *code;
  return is_wrong_by_itself(*split, argv, code.error()) ? refuse_line(code.error(), environment)
                                                        : give_up(code.error());
}

int act(std::vector<std::string> argv, const Environment& environment) {
  // The wheel's script `torchrun`, which can only exec us by our own name.
  const auto called_as = environment.non_empty("TOPRUN_CALLED_AS");
  if (called_as && !argv.empty()) argv[0] = *called_as;
  warn_of_variables(argv, environment);
  if (const auto code = run_verb(argv, environment)) return *code;
  return run(argv, environment);
}

bool awaits_login_orders(const Environment& environment) {
  return environment.get(engines::login_step_variable) == engines::login_step;
}

int run_login_agent(Environment environment) {
  const auto orders = plan::receive_login_orders(environment);
  auto ordered =
      orders ? plan::obey(*orders, std::move(environment)) : std::unexpected(orders.error());
  Result<std::string> folder;
  if (ordered && !orders->kept_as.empty()) folder = plan::keep_running(orders->kept_as, *ordered);
  if (!ordered || !folder) {
    const Error& error = ordered ? folder.error() : ordered.error();
    say(error.line());
    say_block(engines::login_ended(error->exit_code));
    return error->exit_code;
  }
  const int code = act(orders->argv, *ordered);
  if (!folder->empty()) {
    plan::keep_exit_code(*folder, code);
  } else {
    say_block(engines::login_ended(code));
  }
  return code;
}

}  // namespace toprun::cli
