#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "options/given.h"
#include "options/split.h"

namespace toprun::options {

// One call of a verb, by which it reads what its command line, variables and files say.
struct Call {
  Command command;
  Split split;
  Environment environment;
  std::vector<std::string> words = {};  // as they were typed

  // What counts of an option; nullopt: nobody says anything.
  std::optional<Given> given(FlagId id) const;
  std::vector<Given> all(FlagId id) const;
  // Of an option that neither a variable nor a file can take back.
  bool has(FlagId id) const { return given(id).has_value(); }
  std::optional<std::string> text(FlagId id) const;
  // One of the words in the form of its value.
  Result<std::string> choice(FlagId id) const;

  // The operand at this place; empty: it is not given.
  std::string operand(std::size_t place = 0) const;
};

}  // namespace toprun::options
