#include "cli/parse.h"

#include "base/print.h"
#include "cli/help.h"
#include "config/config.h"

namespace toprun::cli {

std::expected<options::Split, int> parse(options::Command command,
                                         const std::vector<std::string>& arguments) {
  auto split = options::split_verb(arguments, command);
  if (!split) return std::unexpected(give_up(split.error()));
  if (split->options.empty()) return *std::move(split);
  switch (split->options.back().flag->id) {
    case options::FlagId::help_short:
      return std::unexpected(print(short_help(command)));
    case options::FlagId::help:
      return std::unexpected(print(full_help(command)));
    default:
      return *std::move(split);
  }
}

std::expected<options::Call, int> call_of(options::Command command,
                                          const std::vector<std::string>& arguments,
                                          const Environment& environment) {
  const auto split = parse(command, arguments);
  if (!split) return std::unexpected(split.error());
  auto whole = config::with_config(*split, command, environment);
  if (!whole) return std::unexpected(give_up(whole.error()));
  return options::Call{command, std::move(whole->split), std::move(whole->environment)};
}

}  // namespace toprun::cli
