#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/os/console.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "cli/config/config_file.h"
#include "cli/config/config_search.h"
#include "cli/options/command_lines.h"
#include "cli/options/flags.h"
#include "cli/verbs/help/help.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/verbs.h"

namespace toprun::cli {
namespace {

using Row = options::CommandText::Row;

// A variable, and the options that it gives a value to.
using OptionsOfVariables = std::map<std::string, std::vector<std::string>>;

void add(OptionsOfVariables& all, std::string_view variable, std::string_view option) {
  if (variable.empty()) return;
  std::vector<std::string>& options = all[std::string(variable)];
  if (std::ranges::find(options, option) == options.end()) options.emplace_back(option);
}

OptionsOfVariables options_of_variables() {
  OptionsOfVariables all;
  for (const options::Flag& flag : options::all_flags()) {
    for (const options::CommandLine& line : options::command_lines()) {
      if (!options::knows(line.command, flag)) continue;
      add(all, options::variable_of(flag, line.command), flag.name);
      add(all, flag.older_variable, flag.name);
    }
  }
  return all;
}

std::vector<Row> variables_without_option() {
  return {
      {"PYTHON_EXEC", "the Python that runs scripts"},
      {"VIRTUAL_ENV, CONDA_PREFIX, PATH",
       "where toprun looks for Python if PYTHON_EXEC is not set"},
      {"TOPRUN_SECRET, TOPRUN_SECRET_FILE",
       "for a start by hand on several nodes: a secret that is the same on all nodes, or a file "
       "that contains this secret; an agent without the secret cannot join"},
      {"TOPRUN_WEB_TOKEN",
       "the token that the web page of --web requires, instead of a random one"},
      {"TOPRUN_ENGINE_TIMEOUT",
       "time limit in seconds for Slurm's commands, kubectl and runai (default: 30)"},
      {"KUBECONFIG, SLURM_CONF", "the cluster that kubectl and Slurm's commands use"},
      {"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR, TMPDIR",
       "the folders that contain toprun's files (see FILES)"},
      {"NO_COLOR", "if this variable is not empty, toprun's output has no colours"},
  };
}

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

std::vector<Row> environment_rows() {
  std::vector<Row> rows;
  for (const auto& [variable, options] : options_of_variables()) {
    rows.push_back({variable, join(options, ", ")});
  }
  for (Row& row : variables_without_option()) rows.push_back(std::move(row));
  return rows;
}

std::vector<Row> file_rows() {
  const std::string name(config::config_name);
  return {
      {name, "the project's settings: in the working directory or the nearest folder above it"},
      {"~/.config/toprun/" + name, "the user's settings"},
      {std::string(config::system_config), "the machine's settings"},
      {"logs/JOB/",
       "files of a job that toprun submit or shell started: script, output, report.json"},
      {"~/.local/state/toprun/bench.jsonl", "results of toprun bench --history"},
      {"~/.cache/toprun/",
       "the records of --prefetch; on hosts reached by ssh, also toprun itself"},
      {"/run/user/UID/toprun/, /tmp/toprun-UID/",
       "sockets through which `toprun top`, `toprun stacks` and other verbs query running jobs on "
       "this machine"},
  };
}

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
