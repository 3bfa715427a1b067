#include "cli/pods/option_reader.h"

namespace toprun::pods {
namespace {

using options::Argument;

const options::Flag& flag_named(std::string_view name) {
  return *options::find_flag(name, options::Command::submit);
}

}  // namespace

std::optional<Argument> OptionReader::one(std::string_view name) const {
  const options::Flag& flag = flag_named(name);
  const bool is_slurms = flag.id == options::FlagId::slurm_option;
  auto argument = options::argument_of(flag, split, is_slurms ? Environment() : environment);
  return argument && argument->value.empty() ? std::nullopt : argument;
}

std::vector<Argument> OptionReader::all(std::string_view name) const {
  return options::all_arguments(flag_named(name), split, environment);
}

}  // namespace toprun::pods
