#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_text.h"
#include "cli/options/flags.h"

namespace toprun::options {

// A word of a command line that is neither an option nor an option's value.
struct Operand {
  enum class Count { one, at_most_one, some, any, script };  // `some` means at least one
  std::string_view name;                                     // "ID"
  Count count = Count::one;
  std::string_view form;  // placeholder of the value; tells completion what to suggest
  std::string_view help;

  bool is_required() const { return count == Count::one || count == Count::some; }
  bool repeats() const { return count == Count::some || count == Count::any; }
};

// The description of one command and its operands. The command's options are in the table of
// flags.h.
struct CommandLine {
  Command command;
  std::string_view name;  // "topo order"; empty for run
  std::string_view summary;
  std::vector<CommandText::Row> examples;
  std::vector<Operand> operands = {};
  std::vector<std::string_view> notes = {};
  // Options in the short help; empty: the command has no short help
  std::vector<std::string_view> most_used = {};
};

// Returns one CommandLine for each command, in the order of the manual page.
std::span<const CommandLine> command_lines();
const CommandLine& line_of(Command command);

// Returns the name as a user types it: "toprun topo order", "torchrun".
std::string full_name(const CommandLine& line);

// Whether the first word that is not an option ends the options. This word is then a script, and
// all following words are the script's arguments. True for all commands that start or submit
// something. For `toprun setup`, the first operand and all words after it are names of packages.
bool ends_at_first_operand(Command command);

}  // namespace toprun::options
