#include <fmt/format.h>

#include "base/os/console.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "cli/config/config_file.h"
#include "cli/options/command_lines.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/verbs.h"

namespace toprun::cli {
namespace {

using options::Command;

// man-pages(7): NAME, SYNOPSIS, DESCRIPTION. The exit codes have a section of their own.
std::string manual_of_a_launch() {
  options::CommandText launch = command_text(Command::run);
  std::erase_if(launch.after, [](const auto& each) { return each.title == exit_codes_title; });
  return fmt::format(
      ".TH TOPRUN 1 \"\" \"toprun {}\" \"User commands\"\n"
      ".SH NAME\ntoprun \\- start distributed PyTorch jobs\n"
      ".SH SYNOPSIS\n{}.br\n.B toprun\nVERB [OPTIONS] [WORDS...]\n"
      ".SH DESCRIPTION\n{}",
      version, options::manual_synopsis(launch), options::manual_text(launch));
}

// man-pages(7): EXIT STATUS, ENVIRONMENT, FILES.
std::string manual_of_surroundings() {
  return fmt::format(
      ".SH EXIT STATUS\n{}{}.SH ENVIRONMENT\n{}{}.SH FILES\n{}",
      options::manual_rows(exit_code_rows(Command::run)),
      options::manual_paragraph(
          "A verb with other exit codes has a table of exit codes in its section below."),
      options::manual_paragraph("An option on the command line overrides its variable, and the "
                                "variable overrides toprun.toml."),
      options::manual_rows(environment_rows()), options::manual_rows(file_rows()));
}

std::string manual_of(Command verb) {
  const options::CommandText text = command_text(verb);
  return fmt::format(".SS {}\n{}{}", text.name, options::manual_synopsis(text),
                     options::manual_text(text));
}

// The first `known` words are a verb's name, and the next is not one of its verbs.
std::unexpected<Error> no_such_verb(const std::vector<std::string>& names, std::size_t known) {
  const std::string verb = join(std::span(names).first(known), " ");
  std::vector<std::string> below;
  for (const Verb* one : verbs_of(verb)) below.emplace_back(last_word_of(*one));
  return usage("help " + join(names, " "),
               fmt::format("there is no verb {} in toprun {}", names[known], verb),
               below.empty() ? fmt::format("see toprun help {0}", verb)
                             : config::nearest_or_all(names[known], below));
}

}  // namespace

Result<int> run_man(const options::Call&) {
  std::string page = manual_of_a_launch() + manual_of_surroundings() + ".SH VERBS\n";
  for (const options::CommandLine& line : options::command_lines()) {
    if (line.command == Command::torchrun || line.command == Command::run) continue;
    page += manual_of(line.command);
  }
  return print(page);
}

Result<int> run_help(const options::Call& call) {
  const std::vector<std::string>& names = call.split.arguments;
  if (names.empty()) return print(short_help(Command::run));
  const bool is_run = names[0] == "run";
  if (is_run && names.size() > 1) return no_such_verb(names, 1);
  if (is_run) return print(full_help(Command::run));
  const auto asked = find_verb(names);
  if (asked && !asked->arguments.empty()) {
    return no_such_verb(names, names.size() - asked->arguments.size());
  }
  if (asked) return print(full_help(asked->verb->command));
  const auto meant = nearest_verb(names[0]);
  return usage("help " + names[0], "there is no such verb",
               meant ? fmt::format("did you mean {}?", *meant) : "see toprun -h");
}

}  // namespace toprun::cli
