#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/arguments.h"
#include "cli/options/split.h"

namespace toprun::options {

// One call of a verb: gives access to its options from the command line, variables and files.
struct Call {
  Command command;
  Split split;
  Environment environment;
  std::vector<std::string> words = {};  // as the user typed them

  // The effective value of an option; nullopt if the option is not given.
  std::optional<Argument> argument(FlagId id) const;
  std::vector<Argument> all(FlagId id) const;
  // For options that neither a variable nor a file can switch off.
  bool has(FlagId id) const { return argument(id).has_value(); }
  std::optional<std::string> text(FlagId id) const;
  // The value, if it is one of the words in the option's placeholder.
  Result<std::string> choice(FlagId id) const;

  // The operand at this index; empty if it is not given.
  std::string operand(std::size_t place = 0) const;
};

}  // namespace toprun::options
