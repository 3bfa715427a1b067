#include "cli/help.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/text.h"
#include "base/version.h"
#include "cli/verbs.h"
#include "options/exit_codes.h"

namespace toprun::cli {
namespace {

using Row = options::CommandText::Row;

struct Heading {
  options::Group group;
  std::string_view title;
};
constexpr std::array headings = {
    Heading{options::Group::building, "What is built"},
    Heading{options::Group::allocation,
            "What the job gets (Slurm's options, with Slurm's meaning)"},
    Heading{options::Group::submission, "How it is submitted"},
    Heading{options::Group::placement, "Processes, nodes and their order"},
    Heading{options::Group::rendezvous,
            "How the nodes meet (an engine such as Slurm needs none of these)"},
    Heading{options::Group::program, "What is run"},
    Heading{options::Group::container, "In a container"},
    Heading{options::Group::stopping, "Restarts, signals and the end"},
    Heading{options::Group::output, "Output"},
    Heading{options::Group::general, "General"},
    Heading{options::Group::without_effect, "Accepted without effect"},
    Heading{options::Group::plugins, "Refused: they name Python code for the launcher"},
};

options::CommandText::Option option_of(const options::Flag& flag, options::Dialect dialect) {
  options::CommandText::Option option;
  // A letter that two options have is the first one's.
  if (flag.letter != 0 && options::find_flag(flag.letter, dialect) == &flag) {
    option.names.push_back({'-', flag.letter});
  }
  if (!flag.name.empty()) option.names.emplace_back(flag.name);
  option.value = flag.value;
  option.value_optional = flag.value_optional;
  option.text = flag.help;
  return option;
}

std::string with_default_and_variable(const options::Flag& flag, options::Dialect dialect) {
  std::string out(flag.help);
  std::string_view default_value = flag.default_value;
  if (dialect == options::Dialect::torchrun && flag.id == options::FlagId::nproc_per_node)
    default_value = "1";
  if (!default_value.empty()) out += fmt::format(" (default: {})", default_value);
  if (!flag.older_variable.empty()) {
    out += fmt::format(" [{}, {}]", flag.variable, flag.older_variable);
  } else if (!flag.variable.empty()) {
    out += fmt::format(" [{}]", options::variable_of(flag, dialect));
  }
  return out;
}

std::vector<options::CommandText::Options> options_of(options::Dialect dialect) {
  std::vector<options::CommandText::Options> sections;
  for (const Heading& heading : headings) {
    options::CommandText::Options section{std::string(heading.title), {}};
    for (const options::Flag& flag : options::all_flags()) {
      if (flag.group != heading.group || !options::knows(dialect, flag)) continue;
      section.options.push_back(option_of(flag, dialect));
      section.options.back().text = with_default_and_variable(flag, dialect);
    }
    if (!section.options.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

const std::vector<Row>& pythons() {
  static const std::vector<Row> rows = {
      {"$PYTHON_EXEC", "if it is set"},
      {"python3, python",
       "the first of them beside the toprun that was called, in $VIRTUAL_ENV/bin, "
       "in $CONDA_PREFIX/bin or in $PATH"},
  };
  return rows;
}

const std::vector<Row>& run_examples() {
  static const std::vector<Row> rows = {
      {"toprun train.py --epochs 3", "one process per GPU of this machine"},
      {"toprun --nproc-per-node 4 train.py", "four processes here"},
      {"srun -N 8 toprun train.py", "eight nodes, ranks in network order"},
      {"toprun submit --nodes 8 train.py", "the same as a job of Slurm's"},
      {"toprun --hosts a,b[3-9] train.py", "on these hosts, started by ssh"},
      {"toprun --container pytorch.sif train.py", "in a container on each node"},
  };
  return rows;
}

const std::vector<Row>& further_run_examples() {
  static const std::vector<Row> rows = {
      {"toprun --via mpirun --hosts a,b train.py", "on these hosts, started by mpirun"},
      {"toprun -m package.train", "a module instead of a file"},
      {"toprun --no-python ./program", "a program that is not Python"},
      {"toprun --nnodes 2 --node-rank R --rdzv-backend c10d --rdzv-endpoint HOST train.py",
       "by hand, the same line on every node; R is 0, 1 and so on"},
  };
  return rows;
}

const std::vector<Row>& torchrun_examples() {
  static const std::vector<Row> rows = {
      {"torchrun --nproc-per-node 4 train.py", "four processes here"},
      {"torchrun --nnodes 2 --node-rank R --master-addr HOST --master-port 29500 train.py",
       "the same line on both nodes; R is 0 and 1"},
  };
  return rows;
}

const std::vector<Row>& submit_examples() {
  static const std::vector<Row> rows = {
      {"toprun submit -N 8 --gpus-per-node 8 -t 2:00:00 train.py --epochs 3",
       "eight nodes for two hours"},
      {"toprun submit --dry-run -N 8 train.py", "the exact script, and why it says what it says"},
      {"id=$(toprun submit -N 1 prepare.py)", "the job's id, for the next line"},
      {"toprun submit --after $id -N 8 train.py", "begins when that job has ended with 0"},
      {"toprun submit --array 0-4 --wait train.py",
       "five worlds; leaves with the highest exit code"},
  };
  return rows;
}

const std::vector<Row>& shell_examples() {
  static const std::vector<Row> rows = {
      {"toprun shell -N 2 --gpus-per-node 4 -t 60", "then, in it: toprun train.py"},
      {"toprun shell -q debug -A NAME --gres gpu:2 -c 40", "one node, by Slurm's own words"},
      {"toprun shell --attach 1234", "on the first node of a job that runs"},
  };
  return rows;
}

const std::vector<Row>& setup_examples() {
  static const std::vector<Row> rows = {
      {"toprun setup -C a100 --modules python/3.11.2,cuda/12.4 --venv env torch",
       "as a job on such a node, with these modules"},
      {"toprun submit --after setup --venv env -N 4 train.py", "waits for it; the same modules"},
      {"toprun setup --follow --venv env -r requirements.txt", "shows what pip prints"},
      {"toprun setup --on local --venv env -r requirements.txt", "here, not as a job"},
      {"toprun setup --container t.sif --from docker://pytorch/pytorch", "an image, by Apptainer"},
  };
  return rows;
}

constexpr std::string_view setup_grammar =
    "Options stand before the first PACKAGE, which is anything that pip installs. They may be "
    "written with underscores. A variable in brackets gives the value where the command line does "
    "not. pip takes its index and proxies from its own variables and pip.conf.";
constexpr std::string_view shell_grammar =
    "Long options may be written with underscores. A variable in brackets gives the value where "
    "the command line does not.";
constexpr std::string_view script_grammar =
    "Long options may be written with underscores, and torchrun's own be shortened while they stay "
    "unambiguous. A variable in brackets gives the value where the command line does not. "
    "Everything after SCRIPT is passed to it as it is; a script named like a verb is ./topo or -- "
    "topo.";
constexpr std::string_view file_grammar =
    "What neither the command line nor a variable gives comes from toprun.toml: of this folder or "
    "the nearest above, of the user, of the system. toprun config show tells.";

std::vector<Row> verb_rows() {
  std::vector<Row> rows = {{"[run] SCRIPT ...", "start SCRIPT in every process on every node"}};
  for (const Verb& verb : all_verbs()) {
    rows.push_back(
        {std::string(trim(fmt::format("{} {}", verb.name, verb.usage))), std::string(verb.help)});
  }
  return rows;
}

// What the texts of one dialect do not share with the others'.
struct About {
  std::string_view command;
  std::string_view words;
  std::string_view summary;
  const std::vector<Row>& (*examples)();
  std::string_view grammar;
  std::span<const std::string_view> most_used;
};

constexpr std::string_view script_words = "[OPTIONS] [--] SCRIPT [ARGUMENTS...]";
constexpr std::array<std::string_view, 6> most_used_of_run = {
    "--nproc-per-node", "--nnodes", "--order", "--log-dir", "--dry-run", "--verbose"};
constexpr std::array<std::string_view, 9> most_used_of_submit = {
    "--nodes", "--gpus-per-node", "--time",   "--partition", "--account",
    "--after", "--log-dir",       "--follow", "--dry-run"};
constexpr std::array<std::string_view, 9> most_used_of_setup = {
    "--venv",      "--requirement", "--modules", "--import", "--time",
    "--partition", "--constraint",  "--follow",  "--dry-run"};
constexpr std::array<std::string_view, 7> most_used_of_shell = {
    "--nodes", "--gpus-per-node", "--time", "--partition", "--account", "--attach", "--dry-run"};

constexpr About about_run = {"toprun",
                             script_words,
                             "Starts a distributed PyTorch job; takes every option of torchrun.",
                             run_examples,
                             script_grammar,
                             most_used_of_run};
constexpr About about_torchrun = {
    "torchrun",
    script_words,
    "This is toprun under torchrun's name: torchrun's options only, and no verbs.",
    torchrun_examples,
    script_grammar,
    most_used_of_run};
constexpr About about_submit = {
    "toprun submit",
    script_words,
    "Writes a batch script that runs SCRIPT with toprun, keeps it beside the logs and submits it. "
    "Every option of toprun run goes into the script's last line.",
    submit_examples,
    script_grammar,
    most_used_of_submit};
constexpr About about_shell = {
    "toprun shell",
    "[OPTIONS]",
    "A shell on the first node of an allocation, in which toprun uses all of its nodes.",
    shell_examples,
    shell_grammar,
    most_used_of_shell};
constexpr About about_setup = {
    "toprun setup",
    "[OPTIONS] [PACKAGE...]",
    "Builds a virtual environment or an image as a job on a node that is to use it.",
    setup_examples,
    setup_grammar,
    most_used_of_setup};

const About& about_of(options::Dialect dialect) {
  switch (dialect) {
    case options::Dialect::setup:
      return about_setup;
    case options::Dialect::torchrun:
      return about_torchrun;
    case options::Dialect::run:
      return about_run;
    case options::Dialect::submit:
      return about_submit;
    case options::Dialect::shell:
      return about_shell;
  }
  return about_run;
}

options::CommandText::Table exit_code_table(options::Dialect dialect) {
  options::CommandText::Table table{"Exit codes", {}};
  for (const options::ExitCode& row : options::exit_codes(dialect)) {
    table.rows.push_back({row.code, std::string(row.meaning)});
  }
  return table;
}

}  // namespace

options::CommandText command_text(options::Dialect dialect) {
  const About& about = about_of(dialect);
  options::CommandText text{std::string(about.command),
                            std::string(about.words),
                            std::string(about.summary),
                            about.examples(),
                            {std::string(about.grammar)},
                            {},
                            options_of(dialect),
                            {},
                            {}};
  if (about.words == script_words) text.positionals = {"SCRIPT"};
  if (dialect == options::Dialect::setup) text.positionals = {"PACKAGE"};
  if (dialect == options::Dialect::run) {
    const auto& further = further_run_examples();
    text.examples.insert(text.examples.end(), further.begin(), further.end());
    text.before.push_back({"Verbs", verb_rows()});
  }
  if (dialect != options::Dialect::torchrun) text.notes.emplace_back(file_grammar);
  if (dialect != options::Dialect::shell) text.after.push_back({"Which Python", pythons()});
  text.after.push_back(exit_code_table(dialect));
  return text;
}

std::string short_help(options::Dialect dialect) {
  const About& about = about_of(dialect);
  options::CommandText text{std::string(about.command),
                            std::string(about.words),
                            std::string(about.summary),
                            about.examples(),
                            {},
                            {},
                            {},
                            {},
                            {}};
  std::string out = options::usage_line(text);
  if (dialect == options::Dialect::run) out += "       toprun VERB [OPTIONS]\n";
  out += options::paragraph(about.summary) + "\nExamples:\n" +
         options::examples_table(about.examples());
  std::vector<Row> rows;
  for (const std::string_view name : about.most_used) {
    const options::Flag* const flag = options::find_flag(name, dialect);
    if (flag == nullptr) continue;
    rows.push_back({options::left_side(option_of(*flag, dialect)), std::string(flag->help)});
  }
  out += "\nMost used:\n" + options::table(rows);
  if (dialect == options::Dialect::run) {
    const std::vector<Row> verbs = verb_rows();
    out += "\nVerbs (toprun help VERB tells more):\n" + options::table(std::span(verbs).subspan(1));
  }
  return out + fmt::format("\n{} --help has everything.\n", about.command);
}

std::string full_help(options::Dialect dialect) {
  return options::plain_text(command_text(dialect));
}

std::string version_text() {
  return fmt::format("toprun {}\n", version);
}

}  // namespace toprun::cli
