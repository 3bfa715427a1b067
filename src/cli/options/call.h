#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/split.h"
#include "cli/options/values.h"

namespace toprun::options {

Argument as_argument(const ParsedOption& option);

// Returns the user's value for a flag: the last value on the command line, else the environment
// variable's value, else a configuration file's value. `split` contains a configuration file's
// value only if neither the command line nor the variable sets the flag (config.h).
std::optional<Argument> argument_of(const Flag& flag, const Split& split,
                                    const Environment& environment);

// Returns the values of a repeatable flag: all values on the command line in their order, else the
// variable's value. For other flags, the result contains at most one value.
std::vector<Argument> all_arguments(const Flag& flag, const Split& split,
                                    const Environment& environment);

// A verb's command line. A Call gives access to the options from the command line, environment
// variables and configuration files.
struct Call {
  Command command;
  Split split;
  Environment environment;
  std::vector<std::string> words = {};  // the command line, as the user typed it

  // Returns the effective value of an option; nullopt if the option is not given.
  std::optional<Argument> argument(FlagId id) const {
    return argument_of(flag_of(id, command), split, environment);
  }
  std::vector<Argument> all(FlagId id) const {
    return all_arguments(flag_of(id, command), split, environment);
  }
  // Whether the option is given. Use has() only for options that neither a variable nor a file can
  // switch off.
  bool has(FlagId id) const { return argument(id).has_value(); }
  std::optional<std::string> text(FlagId id) const;
  // Returns the value. Error: the value is not one of the words in the option's placeholder.
  Result<std::string> choice(FlagId id) const;

  // Returns the operand at this index; empty if the operand is not given.
  std::string operand(std::size_t place = 0) const {
    return place < split.arguments.size() ? split.arguments[place] : std::string();
  }
};

}  // namespace toprun::options
