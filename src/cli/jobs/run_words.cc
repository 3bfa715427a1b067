#include "cli/jobs/job_options.h"
#include "cli/options/flags.h"

namespace toprun::jobs {
namespace {

bool is_about_config(options::FlagId id) {
  return id == options::FlagId::profile || id == options::FlagId::config_file ||
         id == options::FlagId::no_config;
}

}  // namespace

std::vector<std::string> run_words(
    const options::Split& split,
    const std::function<bool(const options::ParsedOption&)>& leave_out) {
  std::vector<std::string> words{std::string(options::flag_of(options::FlagId::no_config).name)};
  for (const options::ParsedOption& option : split.options) {
    if (!options::knows(options::Command::run, *option.flag)) continue;
    if (is_about_config(option.flag->id) || leave_out(option)) continue;
    words.push_back(options::word_of(option));
  }
  return words;
}

}  // namespace toprun::jobs
