#include "cli/run.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/console.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/run_options.h"
#include "launch/launch.h"

namespace toprun::cli {
namespace {

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
}

}  // namespace

int run(const Split& split, const std::vector<std::string>& argv, const Environment& environment) {
  if (!split.options.empty()) {
    switch (split.options.back().flag->id) {
      case FlagId::help_short:
        return print(short_help(split.called_torchrun));
      case FlagId::help:
        return print(full_help(split.called_torchrun));
      case FlagId::version:
        return print(version_text());
      default:
        break;
    }
  }
  const auto parsed = run_options(split, argv, environment, is_file);
  if (!parsed) {
    say(parsed.error().line());
    return parsed.error().exit_code;
  }
  for (const std::string& note : parsed->notes) say(note);
  return launch::launch(parsed->options, environment);
}

}  // namespace toprun::cli
