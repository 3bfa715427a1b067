#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/flags.h"

namespace toprun::options {

// One option as the user gave it.
struct GivenOption {
  const Flag* flag = nullptr;
  std::string value;        // empty for a switch
  std::string origin = {};  // "toprun.toml:3"; empty: the command line

  bool operator==(const GivenOption&) const = default;
};

// A command line taken apart, before any value is looked at.
struct Split {
  Command command = Command::run;    // whose command line it is
  std::vector<GivenOption> options;  // in the order given
  std::optional<std::string> script;
  std::vector<std::string> arguments;  // the script's; of a verb without one, its operands

  bool called_torchrun() const { return command == Command::torchrun; }
};

// The option as one word of a command line: "--tee=3", "--prefix".
std::string word_of(const GivenOption& option);

// Takes argv (argv[0] included, and `run` behind it if it is there) apart by torchrun's grammar,
// which is that of Python's argparse:
//   - long options with dashes or underscores, `--flag value` or `--flag=value`, torchrun's own
//     also by any unambiguous beginning; short ones joined as in `-mt3`;
//   - the first word that is not an option is the script, and everything after it belongs to the
//     script; `--` ends the options, once: before the script, else directly behind it;
//   - a word that begins with a dash is a value or script if it is "-", a negative number or has a
//     blank in it.
// -h, --help, --version and --print-completion end the reading: nothing after them is looked at.
// Called by a name that ends in "torchrun" there are no options of our own, and `run` is a script.
// Errors (exit 2): unknown or ambiguous option, value missing, value for a switch.
Result<Split> split(const std::vector<std::string>& argv);

// Whether it is called by torchrun's name.
bool is_torchrun(const std::vector<std::string>& argv);

// What stands behind a verb. Of submit as of `run`; setup's first package stands for the script.
// Other verbs' operands may stand anywhere among the options; error (exit 2): too few or too many.
Result<Split> split_verb(const std::vector<std::string>& arguments, Command command);

}  // namespace toprun::options
