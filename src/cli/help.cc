#include "cli/help.h"

#include <fmt/format.h>

#include <array>

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
    Heading{Group::placement, "Processes, nodes and their order"},
    Heading{Group::rendezvous, "How the nodes meet (an engine such as Slurm needs none of these)"},
    Heading{Group::program, "What is run"},
    Heading{Group::stopping, "Restarts, signals and the end"},
    Heading{Group::output, "Output"},
    Heading{Group::general, "General"},
    Heading{Group::without_effect, "Accepted without effect"},
    Heading{Group::plugins, "Refused, but for null: they name Python code for the launcher"},
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
  if (!flag.is_switch()) out += fmt::format(" {}", flag.value);
  return out;
}

std::string right_side(const Flag& flag, bool called_torchrun) {
  std::string out(flag.help);
  std::string_view default_value = flag.default_value;
  if (called_torchrun && flag.id == FlagId::nproc_per_node) default_value = "1";
  if (!default_value.empty()) out += fmt::format(" (default: {})", default_value);
  if (!flag.older_variable.empty()) {
    out += fmt::format(" [{}, {}]", flag.variable, flag.older_variable);
  } else if (!flag.variable.empty()) {
    out += fmt::format(" [{}]", flag.variable);
  }
  return out;
}

std::string options_text(bool called_torchrun) {
  std::string out;
  for (const Heading& heading : headings) {
    out += fmt::format("\n{}:\n", heading.title);
    for (const Flag& flag : all_flags()) {
      if (flag.group != heading.group) continue;
      if (called_torchrun && flag.origin == Origin::toprun) continue;
      out += entry(left_side(flag), right_side(flag, called_torchrun));
    }
  }
  return out;
}

std::string usage_text(std::string_view name) {
  return fmt::format("usage: {} [OPTIONS] [--] SCRIPT [ARGUMENTS...]\n", name);
}

constexpr std::array exit_codes = {
    Row{"0", "every rank ended with 0"},
    Row{"N, 128+N",
        "exit code of the rank that failed first, or the number of the signal that "
        "ended it"},
    Row{"1", "toprun itself failed: nodes did not meet, a node was lost, a port was taken"},
    Row{"2", "the command line is wrong, or there is no such script"},
    Row{"130, 143", "interrupted, or told to terminate"},
};

constexpr std::array pythons = {
    Row{"$PYTHON_EXEC", "if it is set"},
    Row{"python3, python",
        "the first of them beside the toprun that was called, in $VIRTUAL_ENV/bin, "
        "in $CONDA_PREFIX/bin or in $PATH"},
};

template <std::size_t n>
std::string rows_text(const std::array<Row, n>& rows) {
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

constexpr std::string_view grammar =
    R"(
Long options may be written with underscores, and torchrun's own be shortened while they stay
unambiguous. A variable in brackets gives the value where the command line does not. Everything
after SCRIPT is passed to it as it is; a script named like a command is ./topo or -- topo.
)";

std::string verbs_text() {
  std::string out = entry("toprun [run] SCRIPT ...", "start SCRIPT in every process on every node");
  for (const Verb& verb : all_verbs()) {
    out += entry(trim(fmt::format("toprun {} {}", verb.name, verb.usage)), verb.help);
  }
  return out;
}

}  // namespace

std::string short_help(bool called_torchrun) {
  const std::string_view name = called_torchrun ? "torchrun" : "toprun";
  std::string out = usage_text(name);
  out += "Starts a distributed PyTorch job; takes every option of torchrun named in --help.\n";
  out += called_torchrun ? torchrun_examples : examples;
  out += "\nMost used:\n";
  constexpr std::array most_used = {
      FlagId::nproc_per_node, FlagId::nnodes,  FlagId::order,  FlagId::tee,
      FlagId::log_dir,        FlagId::dry_run, FlagId::verbose};
  for (const FlagId id : most_used) {
    const Flag& flag = flag_of(id);
    if (called_torchrun && flag.origin == Origin::toprun) continue;
    out += entry(left_side(flag), flag.help);
  }
  return out + fmt::format("\n{} --help has everything.\n", name);
}

std::string full_help(bool called_torchrun) {
  std::string out = usage_text(called_torchrun ? "torchrun" : "toprun");
  if (called_torchrun) {
    out += "This is toprun under torchrun's name: torchrun's options only.\n";
  } else {
    out += "\nCommands:\n" + verbs_text() + "\nExamples:" + std::string(examples);
  }
  out += grammar;
  out += options_text(called_torchrun);
  out += "\nWhich Python:\n" + rows_text(pythons);
  out += "\nExit codes:\n" + rows_text(exit_codes);
  return out;
}

std::string version_text() {
  return fmt::format("toprun {}\n", version);
}

}  // namespace toprun::cli
