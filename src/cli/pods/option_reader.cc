#include "cli/pods/option_reader.h"

namespace toprun::pods {
namespace {

using options::Given;

const options::Flag& flag_named(std::string_view name) {
  return *options::find_flag(name, options::Command::submit);
}

}  // namespace

std::optional<Given> OptionReader::one(std::string_view name) const {
  const options::Flag& flag = flag_named(name);
  const bool is_slurms = flag.id == options::FlagId::slurm_option;
  auto given = options::given_of(flag, split, is_slurms ? Environment() : environment);
  return given && given->value.empty() ? std::nullopt : given;
}

std::vector<Given> OptionReader::all(std::string_view name) const {
  return options::all_given(flag_named(name), split, environment);
}

bool OptionReader::has(std::string_view name) const {
  return one(name).has_value();
}

}  // namespace toprun::pods
