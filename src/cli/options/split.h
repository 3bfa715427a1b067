#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/flags.h"

namespace toprun::options {

// One option as the user gave it.
struct ParsedOption {
  const Flag* flag = nullptr;
  std::string value;        // empty for a switch
  std::string origin = {};  // "toprun.toml:3"; empty: the command line

  bool operator==(const ParsedOption&) const = default;
};

// A command line split into its parts, before any value is parsed.
struct Split {
  Command command = Command::run;     // the command that parses the command line
  std::vector<ParsedOption> options;  // in the given order
  std::optional<std::string> script;
  // The script's arguments. For a verb without a script: its operands.
  std::vector<std::string> arguments;

  bool called_torchrun() const { return command == Command::torchrun; }
};

// Returns the option and its value as one word of a command line: "--tee=3", "--prefix".
std::string word_of(const ParsedOption& option);

// Splits argv by torchrun's grammar, which is the grammar of Python's argparse. argv includes
// argv[0] and, if present, `run` as argv[1].
//   - Long options are written with dashes or underscores, as `--flag value` or `--flag=value`.
//     torchrun's flags can be abbreviated if unambiguous. Short options can be joined: `-mt3`.
//   - The first word that is not an option is the script, and all following words are its
//     arguments. The word `--` before the script ends the options. If there is no `--` before the
//     script, a `--` directly after the script is removed.
//   - A word that begins with a dash is a value or script if it is "-" or a negative number, or if
//     it contains a blank.
// Parsing stops at -h, --help, --version and --print-completion, and all following words are
// ignored. Under a name that ends in "torchrun", toprun's own options do not exist and `run` is a
// script. Errors (exit 2): an unknown or ambiguous option, a missing value, a value for a switch.
Result<Split> split(const std::vector<std::string>& argv);

// Whether toprun is called under torchrun's name.
bool is_torchrun(const std::vector<std::string>& argv);

// Splits the words after a verb. `submit` is split like `run`. For `toprun setup`, the first
// package is treated as the script. Operands of other verbs may appear anywhere among the options.
// Error (exit 2): too few or too many operands.
Result<Split> split_verb(const std::vector<std::string>& arguments, Command command);

}  // namespace toprun::options
