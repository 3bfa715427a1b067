#include "cli/options/call.h"

#include "cli/options/values.h"

namespace toprun::options {

Argument as_argument(const ParsedOption& option) {
  const Flag& flag = *option.flag;
  const std::string value = flag.is_switch() ? "1" : option.value;
  if (option.origin.empty()) return {std::string(flag.name), value};
  return {option.origin, value, false, key_of(flag)};
}

std::optional<Argument> argument_of(const Flag& flag, const Split& split,
                                    const Environment& environment) {
  for (auto option = split.options.rbegin(); option != split.options.rend(); ++option) {
    if (option->flag == &flag) return as_argument(*option);
  }
  if (flag.variable.empty()) return std::nullopt;
  if (split.called_torchrun() && flag.origin == Origin::toprun) return std::nullopt;
  for (const std::string_view name : {flag.variable, flag.older_variable}) {
    if (auto value = environment.non_empty(name)) return Argument{std::string(name), *value, true};
  }
  return std::nullopt;
}

std::vector<Argument> all_arguments(const Flag& flag, const Split& split,
                                    const Environment& environment) {
  std::vector<Argument> all;
  for (const ParsedOption& option : split.options) {
    if (option.flag == &flag && flag.repeatable) all.push_back(as_argument(option));
  }
  if (!all.empty()) return all;
  const auto argument = argument_of(flag, split, environment);
  return argument ? std::vector{*argument} : all;
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

}  // namespace toprun::options
