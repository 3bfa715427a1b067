#include "cli/config/config.h"

#include <algorithm>

#include "base/os/console.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/options/call.h"
#include "decide/topology/position.h"
#include "engines/slurm/facts.h"
#include "node/plan/login_orders.h"

namespace toprun::config {
namespace {

bool names(std::string_view keys, std::string_view key) {
  const auto each = words(keys);
  return std::ranges::find(each, key) != each.end();
}

// A setting from a source that overrides the file: the command line, a variable or a stronger file.
struct Said {
  std::string key;
  std::string_view rivals;
  std::string value;
  std::string variable = {};  // the variable's name, for -e
  bool is_on = true;          // false: the option is switched off
};

// True for a value that does not conflict with its option's rivals: --parallel needs the default
// order, and --gpus does not concern a gres without GPUs.
bool goes_with_all(std::string_view key, std::string_view value) {
  if (key == "order") return value == "topology";
  return key == "gres" && engines::gpus_in_gres(value) == 0;
}

// `flag`: the flag of the entry.
bool decides(const Said& said, const ConfigEntry& entry, const options::Flag& flag) {
  if (said.key == entry.key) return said.variable == entry.variable;
  if (!said.is_on || entry.values.empty()) return false;
  if (goes_with_all(said.key, said.value)) return false;
  if (goes_with_all(entry.key, entry.values.front())) return false;
  return names(said.rivals, entry.key) || names(flag.rivals, said.key);
}

std::string variable_in(const options::Flag& flag, const std::string& value) {
  return flag.id == options::FlagId::env ? value.substr(0, value.find('=')) : "";
}

std::optional<Said> said_by_variable(const options::Flag& flag, options::Command command,
                                     const Environment& environment) {
  const auto set = variable_for(flag, command, environment);
  if (!set) return std::nullopt;
  const bool may_be_off = flag.is_switch() && flag.id != options::FlagId::slurm_option;
  const bool is_on = !may_be_off || options::parse_switch({set->name, set->value}).value_or(true);
  return Said{options::key_of(flag), flag.rivals, set->value, {}, is_on};
}

std::vector<Said> said_by_call(const options::Split& split, options::Command command,
                               const Environment& environment) {
  std::vector<Said> said;
  for (const options::ParsedOption& option : split.options) {
    if (option.flag->name.empty() || option.flag->group == options::Group::of_verb) continue;
    said.push_back({options::key_of(*option.flag), option.flag->rivals, option.value,
                    variable_in(*option.flag, option.value)});
  }
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.name.empty() || !options::knows(command, flag)) continue;
    if (auto one = said_by_variable(flag, command, environment)) said.push_back(*std::move(one));
  }
  return said;
}

struct Layer {
  const ConfigTable* table;
  const std::string* label;
};

std::vector<Layer> layers_of(const Config& config, const std::optional<ChosenProfile>& profile) {
  std::vector<Layer> layers;
  for (const ConfigFile& file : config.files) {
    const auto found = profile ? file.profiles.find(profile->name) : file.profiles.end();
    if (found != file.profiles.end()) layers.push_back({&found->second, &file.label});
  }
  for (const ConfigFile& file : config.files) layers.push_back({&file.options, &file.label});
  return layers;
}

std::unexpected<Error> no_such_profile(const Config& config, const std::string& name,
                                       const std::string& label) {
  std::vector<std::string> labels;
  std::vector<std::string> known;
  for (const ConfigFile& file : config.files) {
    labels.push_back(file.label);
    for (const auto& [profile, table] : file.profiles) known.push_back(profile);
  }
  if (labels.empty()) {
    return usage(label, "no configuration file was read",
                 "toprun config show lists the places that were searched");
  }
  return usage(label,
               fmt::format("{} {} no profile {}", join(labels, " and "),
                           labels.size() == 1 ? "has" : "have", name),
               known.empty() ? fmt::format("add the profile to the file: a line [profile.{}], "
                                           "followed by the profile's options",
                                           name)
                             : nearest_or_all(name, known));
}

// A job runs on the nodes from its engine, so it ignores the project's hosts, which are for
// launches without an engine.
bool is_for(options::Command command, options::FlagId id) {
  return command != options::Command::submit ||
         (id != options::FlagId::hosts && id != options::FlagId::host_file);
}

bool is_verbose(const std::vector<options::ParsedOption>& options) {
  return std::ranges::find(options, &options::flag_of(options::FlagId::verbose),
                           &options::ParsedOption::flag) != options.end();
}

void tell(const std::vector<options::ParsedOption>& options) {
  for (const options::ParsedOption& option : options) {
    say(fmt::format("{}: {} = {}", option.origin, options::key_of(*option.flag),
                    shown_value(option)));
  }
}

void tell_ignored(const Config& config) {
  for (const ConfigPlaceLooked& looked : config.looked) {
    if (looked.state != ConfigPlaceLooked::State::ignored) continue;
    say(fmt::format("{} is ignored: {}; --config-file {} reads it anyway", looked.path, looked.why,
                    looked.path));
  }
}

constexpr std::string_view notify = "--notify";
constexpr std::string_view notify_variable = "TOPRUN_NOTIFY";

bool is_webhook(const options::ParsedOption& option) {
  return option.flag->name == notify &&
         (option.value.starts_with("https://") || option.value.starts_with("http://"));
}

// --notify URL becomes the variable that says the same, where it is the only one.
void hide_webhook(std::vector<options::ParsedOption>& options, Environment& environment) {
  const auto is_notify = [](const auto& option) { return option.flag->name == notify; };
  if (std::ranges::count_if(options, is_notify) != 1) return;
  options::ParsedOption& only = *std::ranges::find_if(options, is_notify);
  if (!is_webhook(only)) return;
  environment.set(std::string(notify_variable), only.value);
  only = {&options::flag_of(options::FlagId::env), std::string(notify_variable), only.origin};
}

// "-e NAME=VALUE", "-eNAME=VALUE" or "--env=NAME=VALUE", without the value.
void hide_value(std::span<std::string> words, const std::string& pair) {
  for (std::string& word : words) {
    const bool is_alone = word == pair;
    const bool is_joined = word.starts_with('-') && word.ends_with(pair);
    if (is_alone || is_joined) word.resize(word.size() - pair.size() + pair.find('='));
  }
}

// "--notify URL" or "--notify=URL" as --env and the variable's name.
void hide_address(std::span<std::string> words, const std::string& url) {
  const std::string joined = fmt::format("{}={}", notify, url);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == joined) words[i] = fmt::format("--env={}", notify_variable);
    if (words[i] != url || i == 0 || words[i - 1] != notify) continue;
    words[i - 1] = "--env";
    words[i] = notify_variable;
  }
}

Result<void> add_files(WithConfig& out, options::Command command) {
  const bool has_files = options::knows(command, options::flag_of(options::FlagId::no_config)) &&
                         command != options::Command::config_show;
  if (!has_files) return {};
  const auto reads = TRY(reads_config(out.split, out.environment));
  if (!reads) return {};
  const auto config =
      TRY(find_config(options::argument_of(options::flag_of(options::FlagId::config_file),
                                           out.split, out.environment),
                      out.environment));
  tell_ignored(config);
  for (const ConfigFile& file : config.files) {
    for (const std::string& note : notes_on_open_secrets(file)) say(note);
  }
  TRY(refuse_wrong_keys(config));
  const auto profile = TRY(choose_profile(config, out.split, out.environment));
  auto options = options_of(config, profile, out.split, command, out.environment);
  if (is_verbose(out.split.options) || is_verbose(options)) tell(options);
  out.split.options.insert(out.split.options.begin(), std::make_move_iterator(options.begin()),
                           std::make_move_iterator(options.end()));
  return {};
}

}  // namespace

// sbatch accepts a switch's variable as set if it exists, whatever its value.
std::optional<SetVariable> variable_for(const options::Flag& flag, options::Command command,
                                        const Environment& environment) {
  const std::string variable = options::variable_of(flag, command);
  if (flag.id == options::FlagId::slurm_option && (flag.is_switch() || flag.value_optional)) {
    if (variable.empty() || !environment.has(variable)) return std::nullopt;
    return SetVariable{variable, {}};
  }
  for (const std::string_view name : {std::string_view(variable), flag.older_variable}) {
    if (auto value = environment.non_empty(name)) return SetVariable{std::string(name), *value};
  }
  return std::nullopt;
}

Result<std::optional<ChosenProfile>> choose_profile(const Config& config,
                                                    const options::Split& split,
                                                    const Environment& environment) {
  std::optional<ChosenProfile> chosen;
  std::string label;
  if (const auto argument =
          options::argument_of(options::flag_of(options::FlagId::profile), split, environment)) {
    chosen = {argument->value, argument->source};
    label = argument->label();
  }
  for (const ConfigFile& file : config.files) {
    if (chosen || !file.default_profile) continue;
    const std::string source =
        topology::at_line(file.label, static_cast<std::size_t>(file.default_profile_line));
    chosen = {*file.default_profile, source};
    label = fmt::format("{}: default-profile = {}", source, *file.default_profile);
  }
  if (!chosen) return std::nullopt;
  const bool exists = std::ranges::any_of(
      config.files, [&](const ConfigFile& file) { return file.profiles.contains(chosen->name); });
  if (!exists) return no_such_profile(config, chosen->name, label);
  return chosen;
}

std::vector<options::ParsedOption> options_of(const Config& config,
                                              const std::optional<ChosenProfile>& profile,
                                              const options::Split& split, options::Command command,
                                              const Environment& environment) {
  std::vector<Said> said = said_by_call(split, command, environment);
  std::vector<options::ParsedOption> options;
  for (const Layer& layer : layers_of(config, profile)) {
    std::vector<Said> by_this;
    for (const ConfigEntry& entry : *layer.table) {
      const options::Flag* flag = options::find_flag("--" + entry.key, command);
      if (flag == nullptr || flag->group == options::Group::of_verb) continue;
      if (!is_for(command, flag->id)) continue;
      if (std::ranges::any_of(said, [&](const Said& one) { return decides(one, entry, *flag); }))
        continue;
      const bool is_on = !entry.values.empty();
      by_this.push_back(
          {entry.key, flag->rivals, is_on ? entry.values.front() : "", entry.variable, is_on});
      const std::string origin =
          topology::at_line(*layer.label, static_cast<std::size_t>(entry.line));
      for (const std::string& value : entry.values) options.push_back({flag, value, origin});
    }
    std::ranges::move(by_this, std::back_inserter(said));
  }
  return options;
}

Result<bool> reads_config(const options::Split& split, const Environment& environment) {
  if (split.called_torchrun()) return false;
  if (environment.has(plan::step_variable) || environment.has(plan::entered_shell_variable)) {
    return false;
  }
  const auto none =
      options::argument_of(options::flag_of(options::FlagId::no_config), split, environment);
  if (!none) return true;
  const auto off = TRY(options::parse_switch(*none));
  if (!off) return true;
  for (const options::FlagId id : {options::FlagId::profile, options::FlagId::config_file}) {
    const auto argument = options::argument_of(options::flag_of(id), split, environment);
    if (!argument || argument->from_variable) continue;
    return usage(fmt::format("{} and {}", none->source, argument->source),
                 "the first option forbids configuration files, and the second option needs them",
                 "leave one of them out");
  }
  return false;
}

std::vector<std::string> hide_secrets(std::vector<options::ParsedOption>& options,
                                      Environment& environment) {
  hide_webhook(options, environment);
  std::vector<std::string> hidden;
  for (options::ParsedOption& option : options) {
    if (option.flag->id != options::FlagId::env) continue;
    const std::size_t equals = option.value.find('=');
    const std::string name = option.value.substr(0, equals);
    const bool is_here = equals == std::string::npos;
    const std::string value =
        is_here ? environment.get(name).value_or("") : option.value.substr(equals + 1);
    if (!holds_a_secret(name, value)) continue;
    if (!is_here) environment.set(name, value);
    option.value = name;
    hidden.push_back(name);
  }
  return hidden;
}

std::vector<std::string> words_without_secrets(std::vector<std::string> words,
                                               const options::Split& typed,
                                               const options::Split& hidden) {
  const std::size_t of_script = typed.arguments.size() + (typed.script ? 1 : 0);
  const std::span own(words.data(), words.size() - std::min(words.size(), of_script));
  const auto is_left = [&](const std::string& name) {
    return std::ranges::any_of(hidden.options, [&](const options::ParsedOption& one) {
      return one.flag->id == options::FlagId::env && one.value == name;
    });
  };
  for (const options::ParsedOption& option : typed.options) {
    const std::size_t equals = option.value.find('=');
    const bool is_pair = option.flag->id == options::FlagId::env && equals != std::string::npos;
    if (is_pair && is_left(option.value.substr(0, equals))) hide_value(own, option.value);
    if (is_webhook(option) && is_left(std::string(notify_variable)))
      hide_address(own, option.value);
  }
  return words;
}

Result<WithConfig> with_config(const options::Split& split, options::Command command,
                               const Environment& environment) {
  WithConfig out{split, environment};
  TRY(add_files(out, command));
  hide_secrets(out.split.options, out.environment);
  return out;
}

std::string shown_value(const options::ParsedOption& option) {
  if (option.flag->is_switch() || (option.flag->value_optional && option.value.empty())) {
    return "true";
  }
  if (is_webhook(option)) return std::string(hidden_secret);
  const std::size_t equals = option.value.find('=');
  const std::string name = option.value.substr(0, equals);
  const bool is_secret = option.flag->id == options::FlagId::env && equals != std::string::npos &&
                         holds_a_secret(name, option.value.substr(equals + 1));
  if (is_secret) return fmt::format("{}={}", name, hidden_secret);
  return toprun::without_secrets(std::span(&option.value, 1)).front();
}

std::vector<std::string> words_with_config(const std::vector<std::string>& argv,
                                           const options::Split& split) {
  std::vector<std::string> argument;
  for (const options::ParsedOption& option : split.options) {
    if (!option.origin.empty()) argument.push_back(options::word_of(option));
  }
  std::vector<std::string> words = argv;
  const bool names_run = argv.size() > 1 && argv[1] == "run";
  words.insert(words.begin() + (names_run ? 2 : 1), argument.begin(), argument.end());
  return words;
}

}  // namespace toprun::config
