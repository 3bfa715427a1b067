#include "cli/manual.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/print.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/verbs.h"

namespace toprun::cli {
namespace {

// The verbs' names as the form of a value, from which completion knows them.
std::string verb_form() {
  std::vector<std::string> names = {"run"};
  for (const Verb& verb : all_verbs()) names.emplace_back(verb.name);
  return join(names, "|");
}

std::string manual_head() {
  return fmt::format(
      ".TH TOPRUN 1 \"\" \"toprun {}\" \"User commands\"\n"
      ".SH NAME\ntoprun \\- start distributed PyTorch jobs\n",
      version);
}

}  // namespace

int run_man(const std::vector<std::string>& arguments, const Environment& environment) {
  CLI::App app("Prints the manual page of toprun and all of its verbs.", "toprun man");
  app.footer(
      "Examples:\n"
      "  toprun man | man -l -  # read it\n"
      "  toprun man > ~/.local/share/man/man1/toprun.1  # then: man toprun\n");
  if (const auto code = parse(app, arguments)) return *code;
  if (const int code =
          print(manual_head() + options::manual_section(command_text(options::Dialect::run)));
      code != 0) {
    return code;
  }
  for (const Verb& verb : all_verbs()) {
    if (const int code = verb.run({std::string(ask_for_manual)}, environment); code != 0)
      return code;
  }
  return 0;
}

int run_help(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> names;
  CLI::App app("What toprun or one of its verbs does and takes.", "toprun help");
  app.add_option("VERB", names, "a verb, and of topo and config one of theirs")
      ->type_name(verb_form());
  app.footer(
      "Examples:\n"
      "  toprun help submit  # as toprun submit --help\n"
      "  toprun help topo order\n");
  if (const auto code = parse(app, arguments)) return *code;
  if (names.empty()) return print(short_help(options::Dialect::run));
  if (names[0] == "run") return print(full_help(options::Dialect::run));
  const Verb* const verb = find_verb(names[0]);
  if (verb == nullptr) {
    const auto meant = nearest_verb(names[0]);
    return give_up(usage("help " + names[0], "there is no such verb",
                         meant ? fmt::format("did you mean {}?", *meant) : "see toprun -h")
                       .error());
  }
  std::vector<std::string> rest(names.begin() + 1, names.end());
  rest.emplace_back("--help");
  return verb->run(rest, environment);
}

}  // namespace toprun::cli
