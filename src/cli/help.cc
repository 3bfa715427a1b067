#include "cli/help.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/text.h"
#include "base/version.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace toprun::cli {
namespace {

constexpr std::size_t text_column = 34;

struct Heading {
  Group group;
  std::string_view title;
};
constexpr std::array headings = {
    Heading{Group::building, "What is built"},
    Heading{Group::allocation, "What the job gets (Slurm's options, with Slurm's meaning)"},
    Heading{Group::submission, "How it is submitted"},
    Heading{Group::placement, "Processes, nodes and their order"},
    Heading{Group::rendezvous, "How the nodes meet (an engine such as Slurm needs none of these)"},
    Heading{Group::program, "What is run"},
    Heading{Group::container, "In a container"},
    Heading{Group::stopping, "Restarts, signals and the end"},
    Heading{Group::output, "Output"},
    Heading{Group::general, "General"},
    Heading{Group::without_effect, "Accepted without effect"},
    Heading{Group::plugins, "Refused: they name Python code for the launcher"},
};

struct Row {
  std::string_view left;
  std::string_view text;
};

// Columns that UTF-8 text takes: every byte but the continuing ones begins a character.
std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// `left`, then the text from text_column on, broken between words. A left side that is too wide has
// a line of its own.
std::string entry(std::string_view left, std::string_view text) {
  std::string out = fmt::format("  {}", left);
  std::size_t column = columns(out);
  if (column + 2 > text_column) {
    out += '\n';
    column = 0;
  }
  bool at_start = true;
  for (const std::string_view word : words(text)) {
    if (!at_start && column + 1 + columns(word) > help_columns) {
      out += '\n';
      column = 0;
      at_start = true;
    }
    const std::size_t blanks = at_start ? text_column - column : 1;
    out.append(blanks, ' ');
    out += word;
    column += blanks + columns(word);
    at_start = false;
  }
  return out + '\n';
}

std::string left_side(const Flag& flag) {
  std::string out;
  if (flag.letter != 0) out = {'-', flag.letter};
  if (!flag.name.empty()) out += (out.empty() ? "" : ", ") + std::string(flag.name);
  if (!flag.is_switch())
    out += fmt::format(fmt::runtime(flag.value_optional ? "[={}]" : " {}"), flag.value);
  return out;
}

std::string right_side(const Flag& flag, Dialect dialect) {
  std::string out(flag.help);
  std::string_view default_value = flag.default_value;
  if (dialect == Dialect::torchrun && flag.id == FlagId::nproc_per_node) default_value = "1";
  if (!default_value.empty()) out += fmt::format(" (default: {})", default_value);
  if (!flag.older_variable.empty()) {
    out += fmt::format(" [{}, {}]", flag.variable, flag.older_variable);
  } else if (!flag.variable.empty()) {
    out += fmt::format(" [{}]", variable_of(flag, dialect));
  }
  return out;
}

std::string options_text(Dialect dialect) {
  std::string out;
  for (const Heading& heading : headings) {
    std::string rows;
    for (const Flag& flag : all_flags()) {
      if (flag.group != heading.group || !knows(dialect, flag)) continue;
      rows += entry(left_side(flag), right_side(flag, dialect));
    }
    if (!rows.empty()) out += fmt::format("\n{}:\n{}", heading.title, rows);
  }
  return out;
}

constexpr std::array exit_codes = {
    Row{"0", "every rank ended with 0"},
    Row{"N, 128+N",
        "exit code of the rank that failed first, or the number of the signal that "
        "ended it"},
    Row{"1", "toprun itself failed: nodes did not meet, a node was lost, a port was taken"},
    Row{"2", "the command line is wrong, or there is no such script"},
    Row{"75", "Slurm preempted or requeued the job"},
    Row{"124", "the job's time limit was reached"},
    Row{"130, 143", "interrupted, or told to terminate"},
};

constexpr std::array pythons = {
    Row{"$PYTHON_EXEC", "if it is set"},
    Row{"python3, python",
        "the first of them beside the toprun that was called, in $VIRTUAL_ENV/bin, "
        "in $CONDA_PREFIX/bin or in $PATH"},
};

constexpr std::array submit_exit_codes = {
    Row{"0", "submitted; with --wait, every rank ended with 0"},
    Row{"N", "with --wait or --follow, the job's exit code"},
    Row{"69", "so too: not started, since a job of --after did not end as asked"},
    Row{"1", "Slurm refused the job or did not answer"},
    Row{"2", "the command line is wrong, or there is no such script"},
};

constexpr std::array shell_exit_codes = {
    Row{"N", "the shell's"},
    Row{"1", "Slurm refused the allocation or did not answer"},
    Row{"2", "the command line is wrong"},
};

constexpr std::array setup_exit_codes = {
    Row{"0", "submitted; with --wait or on local, built"},
    Row{"1", "it could not be built, or Slurm refused the job"},
    Row{"2", "the command line is wrong, or the folder is there already"},
};

std::span<const Row> exit_codes_of(Dialect dialect) {
  if (dialect == Dialect::setup) return setup_exit_codes;
  if (dialect == Dialect::submit) return submit_exit_codes;
  if (dialect == Dialect::shell) return shell_exit_codes;
  return exit_codes;
}

std::string rows_text(std::span<const Row> rows) {
  std::string out;
  for (const Row& row : rows) out += entry(row.left, row.text);
  return out;
}

constexpr std::string_view examples =
    R"(
  toprun train.py --epochs 3            one process per GPU of this machine
  toprun --nproc-per-node 4 train.py    four processes here
  srun -N 8 toprun train.py             eight nodes, ranks in the order of the network
  toprun --hosts a,b[3-9] train.py      on these hosts, started by ssh
  toprun --via mpirun --hosts a,b train.py   the same, started by mpirun
  toprun --container pytorch.sif train.py   in a container on each node
  toprun -m package.train               a module instead of a file
  toprun --no-python ./program          a program that is not Python

By hand, the same line on every node (R is 0, 1 and so on):
  toprun --nnodes 2 --node-rank R --rdzv-backend c10d --rdzv-endpoint HOST:29400 train.py
)";

constexpr std::string_view torchrun_examples =
    R"(
  torchrun --nproc-per-node 4 train.py
  torchrun --nnodes 2 --node-rank R --master-addr HOST --master-port 29500 train.py
)";

constexpr std::string_view submit_examples =
    R"(
  toprun submit --nodes 8 --gpus-per-node 8 --time 2:00:00 train.py --epochs 3
  toprun submit --dry-run --nodes 8 train.py      the exact script, and why it says what it says
  id=$(toprun submit --nodes 1 prepare.py)
  toprun submit --after $id --nodes 8 train.py    begins when that job has ended with 0
  toprun submit --array 0-4 --wait train.py       five worlds; leaves with the highest exit code
)";

constexpr std::string_view shell_examples =
    R"(
  toprun shell --nodes 2 --gpus-per-node 4 --time 1:00:00     then, in it: toprun train.py
  toprun shell --qos debug --account A --gres gpu:2 --cpus-per-task 40
  toprun shell --attach 1234                                  on the first node of a job that runs
)";

constexpr std::string_view setup_examples =
    R"(
  toprun setup --constraint a100 --modules python/3.11.2,cuda/12.4 --venv env torch
  toprun submit --after setup --venv env --nodes 4 train.py      with the same modules
  toprun setup --follow --venv env -r requirements.txt           shows what pip prints
  toprun setup --on local --venv env -r requirements.txt         here, not as a job
  toprun setup --container t.sif --from docker://pytorch/pytorch an image, by Apptainer
)";

constexpr std::string_view setup_grammar =
    R"(
Options stand before the first PACKAGE, which is anything that pip installs. They may be written
with underscores. A variable in brackets gives the value where the command line does not. pip takes
its index and proxies from its own variables and pip.conf.
)";

constexpr std::string_view shell_grammar =
    R"(
Long options may be written with underscores. A variable in brackets gives the value where the
command line does not.
)";

constexpr std::string_view grammar =
    R"(
Long options may be written with underscores, and torchrun's own be shortened while they stay
unambiguous. A variable in brackets gives the value where the command line does not. Everything
after SCRIPT is passed to it as it is; a script named like a command is ./topo or -- topo.
)";

constexpr std::string_view file_grammar =
    R"(
What neither the command line nor a variable gives comes from toprun.toml: of this folder or the
nearest above, of the user, of the system. toprun config show tells.
)";

std::string verbs_text() {
  std::string out = entry("toprun [run] SCRIPT ...", "start SCRIPT in every process on every node");
  for (const Verb& verb : all_verbs()) {
    out += entry(trim(fmt::format("toprun {} {}", verb.name, verb.usage)), verb.help);
  }
  return out;
}

// What the texts of one dialect do not share with the others'.
struct About {
  std::string_view command;
  std::string_view words;
  std::string_view summary;
  std::string_view full_summary;  // in --help
  std::string_view examples;
  std::string_view grammar;
  std::span<const std::string_view> most_used;
};

constexpr std::string_view script_words = "[OPTIONS] [--] SCRIPT [ARGUMENTS...]";
constexpr std::array<std::string_view, 7> most_used_of_run = {
    "--nproc-per-node", "--nnodes", "--order", "--tee", "--log-dir", "--dry-run", "--verbose"};
constexpr std::array<std::string_view, 9> most_used_of_submit = {
    "--nodes", "--gpus-per-node", "--time", "--partition", "--account",
    "--after", "--log-dir",       "--wait", "--dry-run"};
constexpr std::array<std::string_view, 9> most_used_of_setup = {
    "--venv",      "--requirement", "--modules", "--import", "--time",
    "--partition", "--constraint",  "--follow",  "--dry-run"};
constexpr std::array<std::string_view, 7> most_used_of_shell = {
    "--nodes", "--gpus-per-node", "--time", "--partition", "--account", "--attach", "--dry-run"};

const About& about_of(Dialect dialect) {
  static constexpr std::string_view run_summary =
      "Starts a distributed PyTorch job; takes every option of torchrun named in --help.";
  static constexpr About torchrun = {"torchrun",
                                     script_words,
                                     run_summary,
                                     "This is toprun under torchrun's name: "
                                     "torchrun's options only.",
                                     torchrun_examples,
                                     grammar,
                                     most_used_of_run};
  static constexpr About run = {"toprun", script_words, run_summary,     {},
                                examples, grammar,      most_used_of_run};
  static constexpr std::string_view submit_summary =
      "Writes a batch script that runs SCRIPT with toprun, keeps it beside the logs and submits "
      "it.";
  static constexpr About submit = {"toprun submit",
                                   script_words,
                                   submit_summary,
                                   "Writes a batch script that runs SCRIPT with toprun, keeps it "
                                   "beside the logs and submits it.\nEvery option of toprun run "
                                   "goes into the script's last line.",
                                   submit_examples,
                                   grammar,
                                   most_used_of_submit};
  static constexpr std::string_view shell_summary =
      "A shell on the first node of an allocation, in which toprun uses all of its nodes.";
  static constexpr About shell = {"toprun shell", "[OPTIONS]",   shell_summary,     shell_summary,
                                  shell_examples, shell_grammar, most_used_of_shell};
  static constexpr std::string_view setup_summary =
      "Builds a virtual environment or an image as a job on a node that is to use it.";
  static constexpr About setup = {"toprun setup",    "[OPTIONS] [PACKAGE...]", setup_summary,
                                  setup_summary,     setup_examples,           setup_grammar,
                                  most_used_of_setup};
  switch (dialect) {
    case Dialect::setup:
      return setup;
    case Dialect::torchrun:
      return torchrun;
    case Dialect::run:
      return run;
    case Dialect::submit:
      return submit;
    case Dialect::shell:
      return shell;
  }
  return run;
}

}  // namespace

std::string short_help(Dialect dialect) {
  const About& about = about_of(dialect);
  std::string out = fmt::format("usage: {} {}\n{}\n", about.command, about.words, about.summary);
  out += about.examples;
  out += "\nMost used:\n";
  for (const std::string_view name : about.most_used) {
    const Flag* flag = find_flag(name, dialect);
    if (flag != nullptr) out += entry(left_side(*flag), flag->help);
  }
  return out + fmt::format("\n{} --help has everything.\n", about.command);
}

std::string full_help(Dialect dialect) {
  const About& about = about_of(dialect);
  std::string out = fmt::format("usage: {} {}\n", about.command, about.words);
  if (!about.full_summary.empty()) out += fmt::format("{}\n", about.full_summary);
  if (dialect == Dialect::run) out += "\nCommands:\n" + verbs_text();
  if (dialect != Dialect::torchrun) out += "\nExamples:" + std::string(about.examples);
  out += about.grammar;
  if (dialect != Dialect::torchrun) out += file_grammar;
  out += options_text(dialect);
  if (dialect != Dialect::shell) out += "\nWhich Python:\n" + rows_text(pythons);
  out += "\nExit codes:\n" + rows_text(exit_codes_of(dialect));
  return out;
}

std::string version_text() {
  return fmt::format("toprun {}\n", version);
}

}  // namespace toprun::cli
