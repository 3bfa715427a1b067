#include "cli/options/given.h"

namespace toprun::options {

Given as_given(const GivenOption& option) {
  const Flag& flag = *option.flag;
  const std::string value = flag.is_switch() ? "1" : option.value;
  if (option.origin.empty()) return {std::string(flag.name), value};
  return {option.origin, value, false, key_of(flag)};
}

std::optional<Given> given_of(const Flag& flag, const Split& split,
                              const Environment& environment) {
  for (auto option = split.options.rbegin(); option != split.options.rend(); ++option) {
    if (option->flag == &flag) return as_given(*option);
  }
  if (flag.variable.empty()) return std::nullopt;
  if (split.called_torchrun() && flag.origin == Origin::toprun) return std::nullopt;
  for (const std::string_view name : {flag.variable, flag.older_variable}) {
    if (auto value = environment.non_empty(name)) return Given{std::string(name), *value, true};
  }
  return std::nullopt;
}

std::vector<Given> all_given(const Flag& flag, const Split& split, const Environment& environment) {
  std::vector<Given> all;
  for (const GivenOption& option : split.options) {
    if (option.flag == &flag && flag.repeatable) all.push_back(as_given(option));
  }
  if (!all.empty()) return all;
  const auto given = given_of(flag, split, environment);
  return given ? std::vector{*given} : all;
}

}  // namespace toprun::options
