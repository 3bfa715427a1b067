#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_text.h"
#include "cli/options/flags.h"

namespace toprun::options {

// A word of a command line that is neither an option nor its value.
struct Operand {
  enum class Count { one, at_most_one, some, any, script };  // some: at least one
  std::string_view name;                                     // "ID"
  Count count = Count::one;
  std::string_view form;  // of its value, from which completion knows what it may be
  std::string_view help;

  bool is_required() const { return count == Count::one || count == Count::some; }
  bool repeats() const { return count == Count::some || count == Count::any; }
};

// The description of one command, and its operands besides the options of the table.
struct CommandLine {
  Command command;
  std::string_view name;  // "topo order"; of run nothing
  std::string_view summary;
  std::vector<CommandText::Row> examples;
  std::vector<Operand> operands = {};
  std::vector<std::string_view> notes = {};
  std::vector<std::string_view> most_used = {};  // options of the short help; none: it has none
};

// One row for each command, in the order in which the manual page has them.
std::span<const CommandLine> command_lines();
const CommandLine& line_of(Command command);

// "toprun topo order", "torchrun".
std::string full_name(const CommandLine& line);

// Whether the first word that is not an option ends the options: it is a script, and all following
// words are the script's. This holds for all commands that start or submit something; setup's words
// are packages.
bool ends_at_first_operand(Command command);

}  // namespace toprun::options
