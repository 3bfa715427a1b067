#include "cli/verbs/help/completion.h"

#include <fmt/format.h>

#include <set>

#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/options/command_lines.h"
#include "cli/options/values.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/verbs.h"

namespace toprun::cli {
namespace {

using options::Command;
using Words = std::span<const std::string>;

constexpr std::string_view words_of_toprun = "--words";
constexpr std::string_view words_of_torchrun = "--torchrun-words";

// The command by which the script calls toprun: as the user did, or the path of the program that
// made it.
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
  case $? in
    3) compopt +o default 2>/dev/null ;;              # no file fits
    4) compopt +o default -o dirnames 2>/dev/null ;;  # only folders
  esac
  COMPREPLY=("${{COMPREPLY[@]%%$'\t'*}}")
  # The first word may be a verb or a script. Beside a verb, readline does not know that words are
  # files: it would make logs/ of logs, where there is such a folder.
  (( COMP_CWORD == 1 )) && [[ -n $current && $current != -* ]] || return 0
  local verbs=$'\n'"${{COMPREPLY[*]}}"$'\n' file
  for file in $(compgen -f -- "$current"); do
    [[ $verbs == *$'\n'"$file"$'\n'* ]] && continue
    [[ -d $file && ${{#COMPREPLY[@]}} -gt 0 ]] && file+=/
    COMPREPLY+=("$file")
  done
  [[ $verbs == $'\n\n' ]] && compopt -o filenames 2>/dev/null
  return 0
}}
complete -o default -F _{0} {0}
# Behind a launcher's words the line is completed as if it began with {0}. A line of the launcher
# alone goes to the function that completed it before.
declare -gA _{0}_before
_{0}_behind() {{
  local i program
  for (( i = 1; i < COMP_CWORD; ++i )); do
    [[ ${{COMP_WORDS[i]}} == {0} || ${{COMP_WORDS[i]}} == */{0} ]] || continue
    COMP_WORDS=("${{COMP_WORDS[@]:i}}") COMP_CWORD=$(( COMP_CWORD - i ))
    program=$(command -v -- "${{COMP_WORDS[0]}}") || program={0}
    _{0} "$program"
    return
  done
  COMPREPLY=()
  [[ -z ${{_{0}_before[$1]}} ]] || "${{_{0}_before[$1]}}" "$@"
}}
_{0}_follow() {{
  local launcher known
  for launcher in srun mpirun mpiexec sudo; do
    known=$(complete -p "$launcher" 2>/dev/null)
    if [[ $known =~ ' -F '([^ ]+) ]]; then
      [[ ${{BASH_REMATCH[1]}} == _{0}_behind ]] && continue
      _{0}_before[$launcher]=${{BASH_REMATCH[1]}}
    elif [[ -n $known ]]; then
      continue
    elif [[ $launcher == sudo ]] && declare -F _completion_loader >/dev/null; then
      continue  # bash-completion's own completes what is behind it
    fi
    complete -o default -F _{0}_behind "$launcher"
  done
}}
_{0}_follow
)",
                     command, ask);
}

std::string zsh_script(std::string_view command, const std::string& ask) {
  return fmt::format(R"(#compdef {0}
_{0}() {{
  local -a lines shown
  local -i code wide=0
  local line
  lines=("${{(@f)$({1} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
  code=$?
  lines=(${{lines:#}})
  for line in "${{(@)lines%%$'\t'*}}"; do
    (( $#line > wide )) && wide=$#line
  done
  for line in "${{lines[@]}}"; do
    [[ $line == *$'\t'* ]] && line="${{(r:wide:)${{line%%$'\t'*}}}}  -- ${{line#*$'\t'}}"
    shown+=("${{line[1,COLUMNS-1]}}")
  done
  lines=("${{(@)lines%%$'\t'*}}")
  # Groups stand in the order in which they are named: verbs, as in the help, before files.
  local -a group=(-J words)
  (( CURRENT == 2 )) && group=(-V words)
  (( $#lines )) && compadd $group -l -d shown -a lines
  (( code == 3 || ($#lines && CURRENT > 2) )) && return
  compset -P '--*='
  [[ ${{words[CURRENT]}} == (|--order=)file:* ]] && compset -P 'file:'
  (( code == 4 )) && {{ _files -/; return }}
  _files -J files -F lines
}}
compdef _{0} {0}
# Behind a launcher's words the line is completed as if it began with {0}. A line of the launcher
# alone goes to the function that completed it before. zsh's own for sudo does so already.
typeset -gA _{0}_before
_{0}_behind() {{
  local -i i
  for (( i = 2; i < CURRENT; ++i )); do
    [[ $words[i] == {0} || $words[i] == */{0} ]] || continue
    words=("${{(@)words[i,-1]}}")
    (( CURRENT -= i - 1 ))
    whence -p -- $words[1] >/dev/null || words[1]={0}
    _{0}
    return
  done
  ${{_{0}_before[$service]:-_default}}
}}
() {{
  local launcher
  for launcher in srun mpirun mpiexec; do
    [[ $_comps[$launcher] == _{0}_behind ]] && continue
    _{0}_before[$launcher]=$_comps[$launcher]
    compdef _{0}_behind $launcher
  done
}}
)",
                     command, ask);
}

// Also behind the launchers' words: fish asks what belongs to their names then.
std::string fish_script(std::string_view command, const std::string& ask) {
  return fmt::format(R"(function __{0}_words
  set -l words (commandline -opc)
  while set -q words[1]; and not string match -qr '(^|/){0}$' -- $words[1]
    set -e words[1]
  end
  set -q words[1]; and printf '%s\n' $words
end
function __{0}_offers
  set -l words (__{0}_words)
  set -q words[1]; or return 1
  set -g __{0}_lines ({1} $words[2..-1] (commandline -ct) 2>/dev/null)
  set -l code $status
  if test $code -eq 4  # only folders fit
    set -l typed (commandline -ct)
    set -l stem (string match -r '^--[^=]*=' -- $typed)
    set -g __{0}_lines "$stem"(__fish_complete_directories (string replace -r '^--[^=]*=' '' -- $typed) folder)
    return 0
  end
  test $code -eq 3; or test (count $__{0}_lines) -gt 0
end
function __{0}_files
  complete -C "'' "(commandline -ct)
end
function __{0}_is_first
  test (count (__{0}_words)) -eq 1; and not string match -q -- '-*' (commandline -ct)
end
for launcher in {0} srun mpirun mpiexec sudo
  # Verbs, as in the help, before files: fish would sort its own files among them.
  complete -c $launcher -k -n '__{0}_is_first; and __{0}_offers' -f -a '$__{0}_lines (__{0}_files)'
  complete -c $launcher -n 'not __{0}_is_first; and __{0}_offers' -f -a '$__{0}_lines'
end
)",
                     command, ask);
}

std::string tcsh_script(std::string_view command, bool called_torchrun) {
  std::vector<options::CommandText> commands;
  for (const options::CommandLine& line : options::command_lines()) {
    if ((line.command == Command::torchrun) == called_torchrun) {
      commands.push_back(command_text(line.command));
    }
  }
  std::set<std::string> names;
  std::string values;
  for (const options::CommandText& each : commands) {
    for (const auto& section : each.options) {
      for (const auto& option : section.options) {
        const std::string& name = option.names.back();
        if (!name.starts_with("--") || !names.insert(name.substr(2)).second) continue;
        auto words = options::choices(option.value);
        if (words.empty()) words = options::list_choices(option.value);
        if (option.value_optional) words.clear();
        if (!words.empty()) values += fmt::format(" 'n/{}/({})/'", name, fmt::join(words, " "));
      }
    }
  }
  return fmt::format("complete {} 'c/--/({})/'{} 'p/*/f/'\n", command, fmt::join(names, " "),
                     values);
}

// The names of the verbs of `family`, each with its description.
int print_verbs(std::string_view family, std::string_view typed) {
  std::vector<options::CommandText::Row> rows;
  for (const Verb* verb : verbs_of(family)) {
    rows.push_back({std::string(last_word_of(*verb)), std::string(verb->help)});
  }
  if (family.empty()) rows.push_back({"run", "start a script here; the word may be left out"});
  return print(candidate_lines(rows, {}, typed));
}

// What stands behind help and the words before the typed one: verbs.
int print_verbs_for_help(Words before, std::string_view typed) {
  if (before.size() > 1) return 0;
  return print_verbs(before.empty() ? "" : before.front(), typed);
}

int answer(Words words) {
  if (words.empty()) return 0;
  const auto asked = find_verb(words.first(words.size() - 1));
  if (asked && asked->verb->run == nullptr) {
    const std::string_view family = options::line_of(asked->verb->command).name;
    return asked->arguments.empty() ? print_verbs(family, words.back()) : 0;
  }
  if (asked && (asked->verb->command == Command::help || asked->verb->command == Command::man)) {
    return print_verbs_for_help(asked->arguments, words.back());
  }
  if (asked) {
    // bench is a verb and has verbs.
    if (asked->arguments.empty()) {
      print_verbs(options::line_of(asked->verb->command).name, words.back());
    }
    return print_candidates(command_text(asked->verb->command),
                            words.last(asked->arguments.size() + 1));
  }
  if (words.size() == 1 && !words[0].starts_with('-')) return print_verbs("", words[0]);
  const bool says_run = words.size() > 1 && words[0] == "run";
  return print_candidates(command_text(Command::run), words.subspan(says_run ? 1 : 0));
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

std::optional<int> answer_shell(const std::vector<std::string>& arguments) {
  const Words words = arguments;
  if (words.empty()) return std::nullopt;
  if (words[0] == words_of_toprun) return answer(words.subspan(1));
  if (words[0] != words_of_torchrun) return std::nullopt;
  return print_candidates(command_text(Command::torchrun), words.subspan(1));
}

Result<int> run_completion(const options::Call& call) {
  const options::Operand& operand = options::line_of(call.command).operands.front();
  const auto shell = TRY(options::parse_choice({std::string(operand.name), call.operand()},
                                               options::choices(operand.form)));
  return print(completion(shell, false, {}));
}

}  // namespace toprun::cli
