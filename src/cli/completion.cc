#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace toprun::cli {
namespace {

using Flags = std::vector<const Flag*>;

// One command: its word ("" for `run`), its options.
struct Command {
  std::string_view verb;
  Flags flags;
};

Flags flags_of(Dialect dialect) {
  Flags flags;
  for (const Flag& flag : all_flags()) {
    if (!flag.name.empty() && knows(dialect, flag)) flags.push_back(&flag);
  }
  return flags;
}

std::vector<Command> commands_of(bool called_torchrun) {
  if (called_torchrun) return {{"", flags_of(Dialect::torchrun)}};
  return {{"submit", flags_of(Dialect::submit)},
          {"shell", flags_of(Dialect::shell)},
          {"setup", flags_of(Dialect::setup)},
          {"", flags_of(Dialect::run)}};  // last: what is none of the others
}

// Verbs whose options only their own help tells.
std::vector<std::string_view> other_verbs() {
  std::vector<std::string_view> names;
  for (const Verb& verb : all_verbs()) {
    if (verb.name != "submit" && verb.name != "shell" && verb.name != "setup") {
      names.push_back(verb.name);
    }
  }
  return names;
}

std::string verb_names(bool called_torchrun) {
  std::string names;
  if (called_torchrun) return names;
  for (const Verb& verb : all_verbs()) names += fmt::format("{} ", verb.name);
  return names;
}

// Each option once, also where several commands have it.
Flags all_of(const std::vector<Command>& commands) {
  Flags flags;
  for (const Command& command : commands) {
    for (const Flag* flag : command.flags) {
      if (std::ranges::find(flags, flag->name, &Flag::name) == flags.end()) flags.push_back(flag);
    }
  }
  return flags;
}

// Whether the next word is its value: an optional one stands behind = only.
bool takes_a_word(const Flag& flag) {
  return !flag.is_switch() && !flag.value_optional;
}

std::string names_of(const Flags& flags) {
  std::string names;
  for (const Flag* flag : flags) names += fmt::format("{}{}", names.empty() ? "" : " ", flag->name);
  return names;
}

// A case per option with words to choose from; after any other option with a value come files.
std::string bash_values(const Flags& flags) {
  std::string cases;
  std::string others;
  for (const Flag* flag : flags) {
    if (!takes_a_word(*flag)) continue;
    const auto words = choices(*flag);
    if (words.empty()) {
      others += fmt::format("{}*:{}", others.empty() ? "" : "|", flag->name);
    } else {
      cases += fmt::format("    *:{}) words='{}' ;;\n", flag->name, fmt::join(words, " "));
    }
  }
  return cases + fmt::format("    {}) ;;\n", others);
}

std::string bash_script(std::string_view command, bool called_torchrun) {
  const std::vector<Command> commands = commands_of(called_torchrun);
  std::string options;
  if (!called_torchrun) {
    options = fmt::format(
        "    {}:*) [[ $current == -* ]] && words=$({} \"$verb\" --help 2>/dev/null |\n"
        "      grep -o -e '--[a-z-]*') ;;\n",
        fmt::join(other_verbs(), ":*|"), command);
  }
  for (const Command& each : commands) {
    options += fmt::format("    {}:*) [[ $current == -* ]] && words='{}' ;;\n",
                           each.verb.empty() ? "*" : each.verb, names_of(each.flags));
  }
  return fmt::format(R"(_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words= verb=
  [[ $current == = ]] && current=  # bash makes words of their own of the = in --tee=3
  [[ $previous == = ]] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
  (( COMP_CWORD > 1 )) && verb=${{COMP_WORDS[1]}}
  [[ -z $verb && $current != -* ]] && words='{3}'
  case $verb:${{previous//_/-}} in
{1}{2}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o filenames -F _{0} {0}
)",
                     command, bash_values(all_of(commands)), options,
                     trim(verb_names(called_torchrun)));
}

// Within single quotes of zsh's _arguments, where brackets and colons have a meaning.
std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out;
}

std::string zsh_arguments(const Flags& flags) {
  std::string out = "_arguments -S \\\n";
  for (const Flag* flag : flags) {
    out += fmt::format("    '*{}{}[{}]", flag->name, takes_a_word(*flag) ? "=" : "",
                       zsh_quoted(flag->help));
    if (takes_a_word(*flag)) {
      const auto words = choices(*flag);
      out += fmt::format(":{}:", zsh_quoted(flag->value));
      out += words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
    }
    out += "' \\\n";
  }
  return out;
}

std::string zsh_script(std::string_view command, bool called_torchrun) {
  std::string out = fmt::format("#compdef {0}\n_{0}() {{\n", command);
  if (!called_torchrun) {
    out += fmt::format(
        "  (( CURRENT == 2 )) && compadd -- {}\n  case $words[2] in\n"
        "  {}) compadd -- $({} $words[2] --help 2>/dev/null | grep -o -e '--[a-z-]*'); _files; "
        "return ;;\n  esac\n",
        verb_names(false), fmt::join(other_verbs(), "|"), command);
  }
  for (const Command& each : commands_of(called_torchrun)) {
    // Its own word is skipped, so that the rest looks as with `run`.
    const bool is_verb = !each.verb.empty();
    if (is_verb) {
      out += fmt::format("  if [[ $words[2] == {} ]]; then\n  shift words; (( CURRENT-- ))\n",
                         each.verb);
    }
    out += "  " + zsh_arguments(each.flags) + "    '1:script:_files' '*:argument:_files'\n";
    if (is_verb) out += "  return\n  fi\n";
  }
  return out + fmt::format("}}\ncompdef _{0} {0}\n", command);
}

std::string fish_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_script(std::string_view command, bool called_torchrun) {
  std::string out;
  const std::string verbs(trim(verb_names(called_torchrun)));
  if (!called_torchrun) {
    out += fmt::format("complete -c {0} -n __fish_use_subcommand -a '{1}'\n", command, verbs);
    out += fmt::format(
        "complete -c {0} -n '__fish_seen_subcommand_from {1}' -a \"({0} (commandline -opc)[2] "
        "--help "
        "2>/dev/null | string match -r -a -- '--[a-z-]+')\"\n",
        command, fmt::join(other_verbs(), " "));
  }
  for (const Command& each : commands_of(called_torchrun)) {
    std::string when;
    if (!each.verb.empty()) {
      when = fmt::format(" -n '__fish_seen_subcommand_from {}'", each.verb);
    } else if (!called_torchrun) {
      when = fmt::format(" -n 'not __fish_seen_subcommand_from {}'", verbs);
    }
    for (const Flag* flag : each.flags) {
      out += fmt::format("complete -c {}{} -l {}", command, when, flag->name.substr(2));
      if (flag->letter != 0) out += fmt::format(" -s {}", flag->letter);
      const auto words = choices(*flag);
      if (takes_a_word(*flag) && words.empty()) out += " -r";
      if (takes_a_word(*flag) && !words.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(words, " "));
      }
      out += fmt::format(" -d '{}'\n", fish_quoted(flag->help));
    }
  }
  return out;
}

std::string tcsh_script(std::string_view command, bool called_torchrun) {
  std::string names;
  std::string values;
  for (const Flag* flag : all_of(commands_of(called_torchrun))) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", flag->name.substr(2));
    const auto words = choices(*flag);
    if (!takes_a_word(*flag) || words.empty()) continue;
    values += fmt::format(" 'n/{}/({})/'", flag->name, fmt::join(words, " "));
  }
  return fmt::format("complete {} 'c/--/({})/'{} 'p/*/f/'\n", command, names, values);
}

}  // namespace

std::string completion(std::string_view shell, bool called_torchrun) {
  const std::string_view command = called_torchrun ? "torchrun" : "toprun";
  if (shell == "zsh") return zsh_script(command, called_torchrun);
  if (shell == "fish") return fish_script(command, called_torchrun);
  if (shell == "tcsh") return tcsh_script(command, called_torchrun);
  return bash_script(command, called_torchrun);
}

}  // namespace toprun::cli
