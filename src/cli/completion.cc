#include "cli/completion.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "cli/flags.h"

namespace toprun::cli {
namespace {

std::vector<const Flag*> known_flags(bool called_torchrun) {
  const Dialect dialect = called_torchrun ? Dialect::torchrun : Dialect::run;
  std::vector<const Flag*> flags;
  for (const Flag& flag : all_flags()) {
    if (!flag.name.empty() && knows(dialect, flag)) flags.push_back(&flag);
  }
  return flags;
}

std::string names_of(const std::vector<const Flag*>& flags) {
  std::string names;
  for (const Flag* flag : flags) names += fmt::format("{}{}", names.empty() ? "" : " ", flag->name);
  return names;
}

// A case per option with words to choose from; after any other option with a value come files.
std::string bash_script(std::string_view command, const std::vector<const Flag*>& flags) {
  std::string cases;
  std::string others;
  for (const Flag* flag : flags) {
    if (flag->is_switch()) continue;
    const auto words = choices(*flag);
    if (words.empty()) {
      others += fmt::format("{}{}", others.empty() ? "" : "|", flag->name);
    } else {
      cases += fmt::format("    {}) words='{}' ;;\n", flag->name, fmt::join(words, " "));
    }
  }
  return fmt::format(R"(_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=
  [[ $current == = ]] && current=  # bash makes words of their own of the = in --tee=3
  [[ $previous == = ]] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
  case ${{previous//_/-}} in
{1}    {2}) ;;
    *) [[ $current == -* ]] && words='{3}' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o filenames -F _{0} {0}
)",
                     command, cases, others, names_of(flags));
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

std::string zsh_script(std::string_view command, const std::vector<const Flag*>& flags) {
  std::string out = fmt::format("#compdef {0}\n_{0}() {{\n  _arguments -S \\\n", command);
  for (const Flag* flag : flags) {
    out += fmt::format("    '*{}{}[{}]", flag->name, flag->is_switch() ? "" : "=",
                       zsh_quoted(flag->help));
    if (!flag->is_switch()) {
      const auto words = choices(*flag);
      out += fmt::format(":{}:", zsh_quoted(flag->value));
      out += words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
    }
    out += "' \\\n";
  }
  out += "    '1:script:_files' '*:argument:_files'\n}\n";
  return out + fmt::format("compdef _{0} {0}\n", command);
}

std::string tcsh_script(std::string_view command, const std::vector<const Flag*>& flags) {
  std::string names;
  std::string values;
  for (const Flag* flag : flags) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", flag->name.substr(2));
    const auto words = choices(*flag);
    if (flag->is_switch() || words.empty()) continue;
    values += fmt::format(" 'n/{}/({})/'", flag->name, fmt::join(words, " "));
  }
  return fmt::format("complete {} 'c/--/({})/'{} 'p/*/f/'\n", command, names, values);
}

}  // namespace

std::string completion(std::string_view shell, bool called_torchrun) {
  const std::string_view command = called_torchrun ? "torchrun" : "toprun";
  const auto flags = known_flags(called_torchrun);
  if (shell == "zsh") return zsh_script(command, flags);
  if (shell == "tcsh") return tcsh_script(command, flags);
  return bash_script(command, flags);
}

}  // namespace toprun::cli
