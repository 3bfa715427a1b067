#include "cli/options/call.h"

#include "cli/options/values.h"

namespace toprun::options {

std::optional<Argument> Call::argument(FlagId id) const {
  return argument_of(flag_of(id, command), split, environment);
}

std::vector<Argument> Call::all(FlagId id) const {
  return all_arguments(flag_of(id, command), split, environment);
}

std::optional<std::string> Call::text(FlagId id) const {
  const auto said = argument(id);
  return said ? std::optional(said->value) : std::nullopt;
}

Result<std::string> Call::choice(FlagId id) const {
  const Flag& flag = flag_of(id, command);
  const auto said = argument(id);
  return said ? parse_choice(*said, choices(flag)) : std::string(flag.default_value);
}

std::string Call::operand(std::size_t place) const {
  return place < split.arguments.size() ? split.arguments[place] : std::string();
}

}  // namespace toprun::options
