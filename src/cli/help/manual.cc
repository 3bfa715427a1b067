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

std::string manual_head() {
  return fmt::format(
      ".TH TOPRUN 1 \"\" \"toprun {}\" \"User commands\"\n"
      ".SH NAME\ntoprun \\- start distributed PyTorch jobs\n",
      version);
}

}  // namespace

Result<int> run_man(const options::Call&) {
  std::string page = manual_head();
  for (const options::CommandLine& line : options::command_lines()) {
    if (line.command == Command::torchrun) continue;
    page += options::manual_section(command_text(line.command));
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
