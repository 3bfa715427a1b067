#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>

#include "base/print.h"
#include "base/text.h"
#include "cli/candidates.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "options/flags.h"

namespace toprun::cli {
namespace {

using Words = std::span<const std::string>;

constexpr std::string_view words_of_toprun = "--words";
constexpr std::string_view words_of_torchrun = "--torchrun-words";

// How the script calls us: as the user called toprun, or where the script's maker was.
std::string question(std::string_view as_called, bool called_torchrun, std::string_view program) {
  if (!called_torchrun) return fmt::format("{} completion {}", as_called, words_of_toprun);
  const std::vector<std::string> path = {std::string(program)};
  return fmt::format("TOPRUN_CALLED_AS=toprun {} completion {}", shell_quote(path),
                     words_of_torchrun);
}

std::string bash_script(std::string_view command, const std::string& ask) {
  return fmt::format(R"(_{0}() {{
  local IFS=$'\n' current=${{COMP_WORDS[COMP_CWORD]}}
  COMPREPLY=($({1} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
  COMPREPLY=("${{COMPREPLY[@]%%$'\t'*}}")
  # The first word may be a verb or a script.
  (( COMP_CWORD == 1 )) && [[ -n $current && $current != -* ]] &&
    COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o default -o filenames -F _{0} {0}
)",
                     command, ask);
}

std::string zsh_script(std::string_view command, const std::string& ask) {
  return fmt::format(R"(#compdef {0}
_{0}() {{
  local -a lines shown
  lines=("${{(@f)$({1} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
  lines=(${{lines:#}})
  shown=("${{(@)lines/$'\t'/  -- }}")
  lines=("${{(@)lines%%$'\t'*}}")
  (( $#lines )) && compadd -l -d shown -a lines
  (( $#lines && CURRENT > 2 )) || _files
}}
compdef _{0} {0}
)",
                     command, ask);
}

std::string fish_script(std::string_view command, const std::string& ask) {
  return fmt::format(
      "complete -c {0} -a '({1} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n",
      command, ask);
}

std::string tcsh_script(std::string_view command, bool called_torchrun) {
  std::vector<options::CommandText> commands = {
      command_text(called_torchrun ? options::Dialect::torchrun : options::Dialect::run)};
  if (!called_torchrun) {
    for (const options::Dialect dialect :
         {options::Dialect::submit, options::Dialect::shell, options::Dialect::setup}) {
      commands.push_back(command_text(dialect));
    }
  }
  std::set<std::string> names;
  std::string values;
  for (const options::CommandText& each : commands) {
    for (const auto& section : each.options) {
      for (const auto& option : section.options) {
        const std::string& name = option.names.back();
        if (!name.starts_with("--") || !names.insert(name.substr(2)).second) continue;
        const auto words = option.value_optional ? decltype(options::choices(option.value)){}
                                                 : options::choices(option.value);
        if (!words.empty()) values += fmt::format(" 'n/{}/({})/'", name, fmt::join(words, " "));
      }
    }
  }
  return fmt::format("complete {} 'c/--/({})/'{} 'p/*/f/'\n", command, fmt::join(names, " "),
                     values);
}

// What the first word may be besides a script.
int print_verbs(std::string_view typed) {
  std::vector<options::CommandText::Row> rows;
  for (const Verb& verb : all_verbs()) {
    rows.push_back({std::string(verb.name), std::string(verb.help)});
  }
  return print(candidate_lines(rows, {}, typed));
}

int answer(const std::vector<std::string>& words, const Environment& environment) {
  const Verb* const verb = words.size() < 2 ? nullptr : find_verb(words[0]);
  if (verb != nullptr) {
    std::vector<std::string> rest = {std::string(ask_for_completion)};
    rest.insert(rest.end(), words.begin() + 1, words.end());
    return verb->run(rest, environment);
  }
  if (words.size() == 1 && !words[0].starts_with('-')) return print_verbs(words[0]);
  const Words all = words;
  const bool says_run = words.size() > 1 && words[0] == "run";
  return print_candidates(command_text(options::Dialect::run), all.subspan(says_run ? 1 : 0));
}

}  // namespace

std::string completion(std::string_view shell, bool called_torchrun, std::string_view program) {
  const std::string_view command = called_torchrun ? "torchrun" : "toprun";
  const auto ask = [&](std::string_view as_called) {
    return question(as_called, called_torchrun, program);
  };
  if (shell == "zsh") return zsh_script(command, ask("$words[1]"));
  if (shell == "fish") return fish_script(command, ask(command));
  if (shell == "tcsh") return tcsh_script(command, called_torchrun);
  return bash_script(command, ask("\"${1/#\\~/$HOME}\""));
}

int run_completion(const std::vector<std::string>& arguments, const Environment& environment) {
  if (!arguments.empty() && arguments[0] == words_of_toprun) {
    return answer({arguments.begin() + 1, arguments.end()}, environment);
  }
  if (!arguments.empty() && arguments[0] == words_of_torchrun) {
    return print_candidates(command_text(options::Dialect::torchrun), Words(arguments).subspan(1));
  }
  std::string shell;
  const options::Flag& flag = options::flag_of(options::FlagId::print_completion);
  CLI::App app("Prints what makes a shell complete toprun's verbs, options, jobs and partitions.",
               "toprun completion");
  app.add_option("SHELL", shell, "bash, zsh, fish or tcsh")
      ->required()
      ->type_name(std::string(flag.value));
  app.footer(
      "Examples:\n"
      "  eval \"$(toprun completion bash)\"  # in ~/.bashrc\n"
      "  eval \"$(toprun completion zsh)\"  # in ~/.zshrc, after compinit\n"
      "  toprun completion fish > ~/.config/fish/completions/toprun.fish  # once\n");
  if (const auto code = parse(app, arguments)) return *code;
  const auto words = options::choices(flag);
  if (std::ranges::find(words, shell) == words.end()) {
    return give_up(
        usage("completion " + shell, "no such shell", "there are bash, zsh, fish, tcsh").error());
  }
  return print(completion(shell, false, {}));
}

}  // namespace toprun::cli
