#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/process/child.h"
#include "base/process/command.h"
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

// "toprun-topo-order"; "toprun" for a launch.
std::string page_name(Command command) {
  std::string name = command == Command::run ? "toprun" : command_text(command).name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

// man-pages(7): TH and NAME. `brief`: one phrase.
std::string manual_head(Command command, std::string_view brief) {
  std::string name = page_name(command);
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(
      ".TH {} 1 \"\" \"toprun {}\" \"User commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", title,
      version, name, brief);
}

// man-pages(7): NAME, SYNOPSIS, DESCRIPTION. The exit codes have a section of their own.
std::string manual_of_a_launch() {
  options::CommandText launch = command_text(Command::run);
  std::erase_if(launch.after, [](const auto& each) { return each.title == exit_codes_title; });
  return manual_head(Command::run, "start distributed PyTorch jobs") +
         fmt::format("{}.br\n.B toprun\nVERB [OPTIONS] [WORDS...]\n.SH DESCRIPTION\n{}",
                     options::manual_synopsis(launch), options::manual_text(launch));
}

// man-pages(7): EXIT STATUS, ENVIRONMENT, FILES.
std::string manual_of_surroundings() {
  return fmt::format(
      ".SH EXIT STATUS\n{}{}.SH ENVIRONMENT\n{}{}.SH FILES\n{}",
      options::manual_rows(exit_code_rows(Command::run)),
      options::manual_paragraph(
          "A verb with other exit codes has a table of exit codes in its own page."),
      options::manual_paragraph("An option on the command line overrides its variable, and the "
                                "variable overrides toprun.toml."),
      options::manual_rows(environment_rows()), options::manual_rows(file_rows()));
}

std::string manual_of_verbs() {
  std::vector<Row> rows;
  for (const Verb& verb : all_verbs()) {
    rows.push_back({command_text(verb.command).name, std::string(verb.help)});
  }
  return ".SH VERBS\n" +
         options::manual_paragraph(
             "Each verb has a page of its own, such as toprun-topo-order(1) for toprun topo order. "
             "`toprun man topo order` shows it too.") +
         options::manual_rows(rows);
}

std::string manual_of(const Verb& verb) {
  const options::CommandText text = command_text(verb.command);
  return manual_head(verb.command, verb.help) +
         fmt::format("{}.SH DESCRIPTION\n{}.SH SEE ALSO\n{}", options::manual_synopsis(text),
                     options::manual_text(text),
                     options::manual_paragraph("toprun(1) for launches, exit codes, variables and "
                                               "files"));
}

std::string manual_of_toprun() {
  return manual_of_a_launch() + manual_of_surroundings() + manual_of_verbs() + ".SH SEE ALSO\n" +
         options::manual_paragraph("torchrun, srun(1), sbatch(1), mpirun(1), kubectl(1)");
}

// The first `known` words are a verb's name, and the next is not one of its verbs.
std::unexpected<Error> no_such_verb(std::string_view asking, const std::vector<std::string>& names,
                                    std::size_t known) {
  const std::string verb = join(std::span(names).first(known), " ");
  std::vector<std::string> below;
  for (const Verb* one : verbs_of(verb)) below.emplace_back(last_word_of(*one));
  return usage(fmt::format("{} {}", asking, join(names, " ")),
               fmt::format("there is no verb {} in toprun {}", names[known], verb),
               below.empty() ? fmt::format("see toprun help {0}", verb)
                             : config::nearest_or_all(names[known], below));
}

// The verb that these words name; null: a launch. `asking`: the verb that has these words.
Result<const Verb*> verb_called(std::string_view asking, const std::vector<std::string>& names) {
  if (names.empty()) return nullptr;
  const bool is_run = names[0] == "run";
  if (is_run && names.size() > 1) return no_such_verb(asking, names, 1);
  if (is_run) return nullptr;
  const auto asked = find_verb(names);
  if (asked && !asked->arguments.empty()) {
    return no_such_verb(asking, names, names.size() - asked->arguments.size());
  }
  if (asked) return asked->verb;
  const auto meant = nearest_verb(names[0]);
  return usage(fmt::format("{} {}", asking, names[0]), "there is no such verb",
               meant ? fmt::format("did you mean {}?", *meant) : "see toprun -h");
}

// The words but the last name a verb, or none. Empty: the last word is not an option.
std::string help_of_option(std::span<const std::string> names) {
  const auto before = names.first(names.size() - 1);
  const auto verb = names.back().starts_with('-') ? std::nullopt : find_verb(names);
  if (verb && verb->arguments.empty()) return {};
  if (before.empty()) return option_help(names.back());
  const bool is_run = before.size() == 1 && before[0] == "run";
  if (is_run) return option_help(names.back(), Command::run);
  const auto asked = find_verb(before);
  if (!asked || !asked->arguments.empty()) return {};
  return option_help(names.back(), asked->verb->command);
}

std::unexpected<Error> no_such_option(const std::vector<std::string>& names) {
  const auto asked = find_verb(std::span(names).first(names.size() - 1));
  const Command command = asked ? asked->verb->command : Command::run;
  const auto meant = options::nearest_flag(names.back(), command);
  return usage("help " + join(names, " "), "there is no such option",
               meant ? fmt::format("did you mean {}?", *meant)
                     : fmt::format("{} --help lists the options", command_text(command).name));
}

// Shows the page as man(1) shows its own. On success this function does not return, because the
// process becomes man. Error: man is not installed.
Result<void> become_man(std::string_view page, const Environment& environment) {
  const auto program = process::find_program("man", environment);
  if (!program) return fail("man", "there is no such program");
  const Fd file = TRY(process::memory_file(page, "page"));
  if (::lseek(file.get(), 0, SEEK_SET) != 0 || ::dup2(file.get(), STDIN_FILENO) < 0) {
    return fail_errno("cannot give the page to man");
  }
  const std::vector<std::string> argv = {"man", "-l", "-"};
  const std::vector<std::string> entries = environment.entries();
  ::execve(program->c_str(), process::exec_pointers(argv).data(),
           process::exec_pointers(entries).data());
  return fail_errno("cannot start " + *program);
}

Result<int> write_pages(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("cannot make " + folder.string(), error.message());
  TRY(replace_file(folder / "toprun.1", manual_of_toprun()));
  for (const Verb& verb : all_verbs()) {
    TRY(replace_file(folder / (page_name(verb.command) + ".1"), manual_of(verb)));
  }
  say(fmt::format("wrote {} manual pages to {}", all_verbs().size() + 1,
                  printable(folder.string())));
  return 0;
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

Result<int> run_man(const options::Call& call) {
  const Verb* const verb = TRY(verb_called("man", call.split.arguments));
  if (const auto folder = call.text(options::FlagId::output)) return write_pages(*folder);
  const std::string page = verb == nullptr ? manual_of_toprun() : manual_of(*verb);
  if (::isatty(STDOUT_FILENO) != 1) return print(page);
  (void)become_man(page, call.environment);
  return print(full_help(verb == nullptr ? Command::run : verb->command));
}

Result<int> run_help(const options::Call& call) {
  const std::vector<std::string>& names = call.split.arguments;
  if (names.empty()) return print(short_help(Command::run));
  if (const std::string text = help_of_option(names); !text.empty()) return print(text);
  if (names.back().starts_with('-')) return no_such_option(names);
  const Verb* const verb = TRY(verb_called("help", names));
  return print(full_help(verb == nullptr ? Command::run : verb->command));
}

}  // namespace toprun::cli
