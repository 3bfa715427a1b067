#include "cli/help/manual.h"

#include <fmt/format.h>

#include "base/print.h"
#include "base/version.h"
#include "cli/help/help.h"
#include "cli/verbs.h"
#include "options/command_lines.h"

namespace toprun::cli {
namespace {

using options::Command;

// man-pages(7): NAME, SYNOPSIS, DESCRIPTION.
std::string manual_of_a_launch() {
  const options::CommandText launch = command_text(Command::run);
  return fmt::format(
      ".TH TOPRUN 1 \"\" \"toprun {}\" \"User commands\"\n"
      ".SH NAME\ntoprun \\- start distributed PyTorch jobs\n"
      ".SH SYNOPSIS\n{}.br\n.B toprun\nVERB [OPTIONS] [WORDS...]\n"
      ".SH DESCRIPTION\n{}",
      version, options::manual_synopsis(launch), options::manual_text(launch));
}

std::string manual_of(Command verb) {
  const options::CommandText text = command_text(verb);
  return fmt::format(".SS {}\n{}{}", text.name, options::manual_synopsis(text),
                     options::manual_text(text));
}

}  // namespace

Result<int> run_man(const options::Call&) {
  std::string page = manual_of_a_launch() + ".SH VERBS\n";
  for (const options::CommandLine& line : options::command_lines()) {
    if (line.command == Command::torchrun || line.command == Command::run) continue;
    page += manual_of(line.command);
  }
  return print(page);
}

Result<int> run_help(const options::Call& call) {
  const std::vector<std::string>& names = call.split.arguments;
  if (names.empty()) return print(short_help(Command::run));
  if (names[0] == "run") return print(full_help(Command::run));
  const auto asked = find_verb(names);
  if (asked && asked->verb->run == nullptr && !asked->arguments.empty()) {
    return answer_for(*asked);
  }
  if (asked) return print(full_help(asked->verb->command));
  const auto meant = nearest_verb(names[0]);
  return usage("help " + names[0], "there is no such verb",
               meant ? fmt::format("did you mean {}?", *meant) : "see toprun -h");
}

}  // namespace toprun::cli
