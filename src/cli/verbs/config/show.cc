#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/config/config.h"
#include "cli/jobs/job_options.h"
#include "cli/jobs/job_words.h"
#include "cli/options/call.h"
#include "cli/options/command_lines.h"
#include "cli/options/run_options.h"
#include "cli/verbs/run_verbs.h"
#include "observe/report/columns.h"

namespace toprun::cli {
namespace {

using nlohmann::json;

struct ShownOption {
  std::string key;
  std::vector<std::string> values;  // of a switch "true"
  std::string_view kind;            // "file", "variable", "default"
  std::string source;               // "toprun.toml:3", "PET_TEE"; empty: default
};

struct ShownConfig {
  std::string verb;
  bool reads = true;
  config::Config config;
  std::optional<config::ChosenProfile> profile;
  std::vector<ShownOption> rows;
};

options::Command dialect_of(std::string_view verb) {
  if (verb == "submit") return options::Command::submit;
  if (verb == "setup") return options::Command::setup;
  return verb == "shell" ? options::Command::shell : options::Command::run;
}

// One row for each source that sets the option.
void add_rows(std::vector<ShownOption>& rows, const options::Flag& flag,
              const options::Split& split, options::Command command,
              const Environment& environment) {
  const std::size_t before = rows.size();
  for (const options::ParsedOption& option : split.options) {
    if (option.flag != &flag || option.origin.empty()) continue;
    if (rows.size() > before && rows.back().source == option.origin) {
      rows.back().values.push_back(config::shown_value(option));
    } else {
      rows.push_back({options::key_of(flag), {config::shown_value(option)}, "file", option.origin});
    }
  }
  if (rows.size() > before) return;
  if (const auto set = config::variable_for(flag, command, environment)) {
    const bool is_shown_as_given = flag.is_switch() && !set->value.empty();
    const std::string value =
        is_shown_as_given ? set->value : config::shown_value({&flag, set->value});
    rows.push_back({options::key_of(flag), {value}, "variable", set->name});
  } else if (!flag.default_value.empty()) {
    rows.push_back({options::key_of(flag), {std::string(flag.default_value)}, "default", {}});
  }
}

std::vector<std::string> profiles_of(const config::Config& config) {
  std::set<std::string> names;
  for (const config::ConfigFile& file : config.files) {
    for (const auto& [name, table] : file.profiles) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::string profile_text(const ShownConfig& shown) {
  const auto names = profiles_of(shown.config);
  if (names.empty()) return {};
  const std::string known = printable(join(names, ", "));
  if (!shown.profile)
    return fmt::format("no profile is used; --profile NAME chooses: {}\n\n", known);
  return fmt::format("profile {}, chosen by {}; the files have {}\n\n",
                     printable(shown.profile->name), printable(shown.profile->source), known);
}

bool is_about_config(const options::Flag& flag) {
  return flag.id == options::FlagId::profile || flag.id == options::FlagId::config_file ||
         flag.id == options::FlagId::no_config;
}

Result<options::Split> take(ShownConfig& shown, options::Split split,
                            const Environment& environment) {
  const options::Command command = dialect_of(shown.verb);
  shown.reads = TRY(config::reads_config(split, environment));
  if (shown.reads) {
    auto config = config::find_config(
        options::argument_of(options::flag_of(options::FlagId::config_file), split, environment),
        environment);
    if (!config) return std::unexpected(std::move(config.error()));
    shown.config = *std::move(config);
    TRY(config::refuse_wrong_keys(shown.config));
    shown.profile = TRY(config::choose_profile(shown.config, split, environment));
    auto options = config::options_of(shown.config, shown.profile, split, command, environment);
    std::ranges::move(options, std::back_inserter(split.options));
  }
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.name.empty() || !options::knows(command, flag) || is_about_config(flag)) continue;
    add_rows(shown.rows, flag, split, command, environment);
  }
  return split;
}

// The same checks as the verb's. Files that may exist on other machines are not checked.
Result<void> check(options::Split split, const std::string& verb, const Environment& environment) {
  const auto any_file = [](const std::string&) { return true; };
  if (verb == "shell") {
    const auto options = jobs::shell_options(split, environment);
    return options ? Result<void>() : std::unexpected(options.error());
  }
  if (verb == "setup") {
    const auto options = jobs::setup_job_options(split, environment);
    return options ? Result<void>() : std::unexpected(options.error());
  }
  split.script = "SCRIPT";
  if (verb == "submit") {
    const auto options = jobs::submit_options(split, {"SCRIPT"}, environment, any_file);
    return options ? Result<void>() : std::unexpected(options.error());
  }
  const auto options = options::run_options(split, {"toprun", "SCRIPT"}, environment, any_file);
  return options ? Result<void>() : std::unexpected(options.error());
}

std::string_view name_of(config::ConfigPlaceLooked::State state) {
  using State = config::ConfigPlaceLooked::State;
  switch (state) {
    case State::absent:
      return "absent";
    case State::read:
      return "read";
    case State::ignored:
      return "ignored";
  }
  return "";
}

std::string json_of(const ShownConfig& shown) {
  json options = json::array();
  for (const ShownOption& row : shown.rows) {
    options.push_back({{"name", row.key},
                       {"values", row.values},
                       {"kind", row.kind},
                       {"source", or_null(row.source)}});
  }
  json files = json::array();
  for (const config::ConfigPlaceLooked& looked : shown.config.looked) {
    files.push_back({{"kind", looked.kind},
                     {"path", or_null(looked.path)},
                     {"state", name_of(looked.state)},
                     {"why", or_null(looked.why)}});
  }
  json profile = nullptr;
  if (shown.profile) {
    profile = {{"name", shown.profile->name}, {"source", shown.profile->source}};
  }
  const json document = {{"schema", "toprun.config/1"},   {"verb", shown.verb},
                         {"profile", std::move(profile)}, {"profiles", profiles_of(shown.config)},
                         {"options", std::move(options)}, {"files", std::move(files)}};
  return json_text(document, 2) + '\n';
}

std::string options_text(const ShownConfig& shown, bool with_defaults) {
  std::vector<std::vector<std::string>> rows = {{"OPTION", "VALUE", "FROM"}};
  std::size_t left_out = 0;
  for (const ShownOption& row : shown.rows) {
    const bool is_default = row.source.empty();
    if (is_default && !with_defaults) {
      ++left_out;
      continue;
    }
    const std::string value = join(row.values, ", ");
    rows.push_back({row.key, value.empty() ? "''" : printable(value),
                    is_default ? "default" : printable(row.source)});
  }
  std::string text = rows.size() > 1 ? report::columns_text(rows, {}) + '\n'
                                     : "no file and no variable sets an option\n\n";
  if (left_out > 0) {
    text += fmt::format("--all also shows the {} of the other options\n\n",
                        counted(left_out, "default"));
  }
  return text;
}

std::string text_of(const ShownConfig& shown, bool with_defaults) {
  std::string text = options_text(shown, with_defaults) + profile_text(shown);
  if (!shown.reads) return text + "no file is read\n";
  std::vector<std::vector<std::string>> files = {{"FILE", "PATH", ""}};
  for (const config::ConfigPlaceLooked& looked : shown.config.looked) {
    const std::string state(name_of(looked.state));
    files.push_back({std::string(looked.kind), looked.path.empty() ? "-" : printable(looked.path),
                     looked.why.empty() ? state : state + ": " + looked.why});
  }
  text += report::columns_text(files, {});
  const bool is_run = shown.verb == "run";
  return text + fmt::format(
                    "\nthis is what `toprun {}` reads; what {} reads: toprun config show {}\n",
                    is_run ? "SCRIPT" : shown.verb,
                    is_run ? "submit, shell or setup" : "another verb", is_run ? "submit" : "VERB");
}

Result<int> show(const std::string& verb, const options::Call& call) {
  ShownConfig shown;
  shown.verb = verb;
  // Options about files have the same meaning in the verb; --json does not.
  options::Split split = call.split;
  std::erase_if(split.options, [](const auto& option) { return !is_about_config(*option.flag); });
  const auto whole = TRY(take(shown, std::move(split), call.environment));
  const int printed = call.has(options::FlagId::json)
                          ? print_bytes(json_of(shown))
                          : print(text_of(shown, call.has(options::FlagId::all)));
  TRY(check(whole, verb, call.environment));
  return printed;
}

}  // namespace

Result<int> run_config_show(const options::Call& call) {
  const std::string verb = call.split.arguments.empty() ? "run" : call.operand();
  const auto known = options::choices(options::line_of(call.command).operands.front().form);
  TRY(options::parse_choice({"VERB", verb}, known));
  return show(verb, call);
}

}  // namespace toprun::cli
