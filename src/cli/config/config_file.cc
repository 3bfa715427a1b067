#include "cli/config/config_file.h"

#include <algorithm>
#include <map>

#include "base/json/toml.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/options/flags.h"
#include "decide/topology/position.h"
#include "decide/topology/source.h"
#include "machine/container/image.h"

namespace toprun::config {
namespace {

using topology::at;

constexpr std::string_view profile_key = "profile";
constexpr std::string_view default_profile_key = "default-profile";

bool is_key(const options::Flag& flag) {
  return !flag.name.empty() && !flag.of_one_call && flag.group != options::Group::of_verb;
}

// The option of this key; if files cannot set it, the option with this name.
const options::Flag* flag_for(std::string_view key) {
  std::string name = fmt::format("--{}", key);
  std::ranges::replace(name, '_', '-');
  const options::Flag* found = nullptr;
  for (const options::Flag& flag : options::all_flags()) {
    if (flag.name != name) continue;
    if (is_key(flag)) return &flag;
    found = &flag;
  }
  return found;
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys = {std::string(profile_key), std::string(default_profile_key)};
  for (const options::Flag& flag : options::all_flags()) {
    if (is_key(flag)) keys.push_back(options::key_of(flag));
  }
  return keys;
}

// An incomplete key means the option that begins with it.
std::optional<std::string> nearest_key(std::string_view key) {
  constexpr std::size_t least_beginning = 4;
  const auto keys = all_keys();
  for (const std::string& whole : keys) {
    if (key.size() >= least_beginning && whole.starts_with(key)) return whole;
  }
  return did_you_mean(key, keys);
}

// Whether one value contains several, separated by commas.
bool is_list(const options::Flag& flag) {
  return flag.value.ends_with(",...") || flag.value == "LIST" || flag.value == "HOSTS";
}

bool doubles_commas(const options::Flag& flag) {
  return flag.id == options::FlagId::duplicate_stdout_filters ||
         flag.id == options::FlagId::duplicate_stderr_filters;
}

std::string with_doubled_commas(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == ',' ? 2 : 1, c);
  return out;
}

// The start of the path in a value; npos if the value is not a path.
std::size_t path_in(const options::Flag& flag, std::string_view value) {
  constexpr std::string_view file = "file:";
  if (flag.id == options::FlagId::order) return value.starts_with(file) ? file.size() : value.npos;
  if (flag.id == options::FlagId::container) return container::names_path(value) ? 0 : value.npos;
  if (flag.id == options::FlagId::bind) return 0;
  if (flag.id == options::FlagId::container_workdir) return value.npos;
  const auto forms = split(flag.value, '|');
  const bool has_path = std::ranges::any_of(forms, [](std::string_view form) {
    return form == "FILE" || form == "DIR" || form == "PATTERN";
  });
  if (!has_path || value.empty()) return value.npos;
  if (flag.id == options::FlagId::topology) return topology::names_source(value) ? value.npos : 0;
  const bool may_be_name = forms.size() > 1 && !value.contains('/') && !value.ends_with(".toml");
  return may_be_name ? value.npos : 0;
}

std::string_view type_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (node.is_boolean()) return "true or false";
  if (node.is_string()) return "a string";
  return node.is_number() ? "a number" : "a date or time";
}

using Values = Result<std::vector<std::string>>;

std::vector<Error> limited(std::multimap<toml::source_position, Error> by_position,
                           const std::string& label) {
  std::vector<Error> errors;
  for (auto& [position, error] : by_position) errors.push_back(std::move(error));
  if (errors.size() <= max_config_errors) return errors;
  const std::size_t left_out = errors.size() - max_config_errors;
  errors.resize(max_config_errors);
  errors.push_back(
      {fmt::format("{} has {}", label, counted(left_out, "more error")), {}, {}, exit_usage});
  return errors;
}

class Reader {
 public:
  explicit Reader(const ConfigPlace& place) : place_(place) {}
  ConfigFile file(const toml::table& root) {
    ConfigFile file;
    file.label = place_.label;
    for (const auto& [key, node] : root) {
      keep(key.source(), key.str() == profile_key           ? take_profiles(file, node)
                         : key.str() == default_profile_key ? take_default_profile(file, node)
                                                            : take(file.options, key, node));
    }
    file.errors = limited(std::move(errors_), place_.label);
    return file;
  }

 private:
  void keep(const toml::source_region& key, Result<void> taken) {
    if (!taken) errors_.emplace(key.begin, std::move(taken.error()));
  }
  Result<void> take_profiles(ConfigFile& file, const toml::node& node) {
    const toml::table* profiles = node.as_table();
    if (profiles == nullptr) {
      return usage(where(node.source()), "profile must be a table of tables",
                   "write [profile.NAME]");
    }
    for (const auto& [name, content] : *profiles) {
      const toml::table* options = content.as_table();
      if (options == nullptr) {
        keep(name.source(),
             usage(where(name.source()), fmt::format("profile.{} is not a table", name.str()),
                   "write [profile.NAME], and below it the options of this profile"));
        continue;
      }
      ConfigTable& table = file.profiles[std::string(name.str())];
      for (const auto& [key, value] : *options) {
        keep(key.source(), take(table, key, value));
      }
    }
    return {};
  }
  Result<void> take_default_profile(ConfigFile& file, const toml::node& node) {
    const auto* name = node.as_string();
    if (name == nullptr) {
      return usage(where(node.source()), "default-profile must be the name of a profile",
                   "write default-profile = \"NAME\"");
    }
    file.default_profile = name->get();
    file.default_profile_line = line_of(node);
    return {};
  }
  Result<void> take(ConfigTable& table, const toml::key& key, const toml::node& node) {
    const std::string_view name = key.str();
    const options::Flag* flag = flag_for(name);
    if (flag == nullptr) {
      const auto near = nearest_key(name);
      if (!near && node.is_table()) {
        return usage(where(key.source()), fmt::format("unknown section {}", name),
                     "the only sections are [profile.NAME] and [env]: move this section's keys "
                     "above the first section");
      }
      return usage(where(key.source()), fmt::format("unknown key {}", name),
                   near ? fmt::format("did you mean {}?", *near)
                        : "keys are long options without dashes; toprun --help and toprun submit "
                          "--help list them");
    }
    if (!is_key(*flag)) {
      return usage(where(key.source()), fmt::format("{} cannot be set in a file", name),
                   fmt::format("give {} on the command line", flag->name));
    }
    const bool is_twice =
        std::ranges::find(table, options::key_of(*flag), &ConfigEntry::key) != table.end();
    if (is_twice) {
      return usage(where(key.source()), fmt::format("{} is given twice", options::key_of(*flag)),
                   "a dash and an underscore mean the same in a key: remove one of the two lines");
    }
    if (flag->id == options::FlagId::env && node.is_table()) {
      take_variables(table, node);
      return {};
    }
    auto values = TRY(values_of(*flag, node));
    if (flag->id != options::FlagId::env) {
      table.push_back({options::key_of(*flag), std::move(values), line_of(node)});
      return {};
    }
    for (std::string& value : values) {
      table.push_back(
          {options::key_of(*flag), {value}, line_of(node), value.substr(0, value.find('='))});
    }
    return {};
  }
  void take_variables(ConfigTable& table, const toml::node& node) {
    for (const auto& [name, content] : *node.as_table()) {
      keep(name.source(), take_variable(table, std::string(name.str()), content));
    }
  }
  Result<void> take_variable(ConfigTable& table, std::string variable, const toml::node& content) {
    if (variable.contains('=') || content.is_boolean()) {
      return usage(where(content.source()),
                   fmt::format("env.{} is not of the form NAME = \"VALUE\"", variable),
                   "write the value in quotes");
    }
    const options::Flag& flag = options::flag_of(options::FlagId::env);
    const auto value = TRY(text_of(flag, content));
    table.push_back({options::key_of(flag),
                     {fmt::format("{}={}", variable, value)},
                     line_of(content),
                     variable});
    return {};
  }
  Values values_of(const options::Flag& flag, const toml::node& node) {
    if (const auto* truth = node.as_boolean()) {
      if (!truth->get()) return std::vector<std::string>();
      if (flag.is_switch() || flag.value_optional) return std::vector<std::string>{""};
      return refuse(flag, node, fmt::format("write a value: {}", flag.value));
    }
    if (flag.is_switch()) return refuse(flag, node, "write true or false");
    const toml::array* array = node.as_array();
    if (array == nullptr) {
      auto text = TRY(text_of(flag, node));
      return std::vector{std::move(text)};
    }
    if (!flag.repeatable && !is_list(flag)) {
      return refuse(flag, node, fmt::format("write one value: {}", flag.value));
    }
    std::vector<std::string> values;
    for (const toml::node& item : *array) {
      auto text = TRY(text_of(flag, item));
      values.push_back(doubles_commas(flag) ? with_doubled_commas(text) : std::move(text));
    }
    if (flag.repeatable || values.empty()) return values;
    return std::vector{join(values, ",")};
  }
  Result<std::string> text_of(const options::Flag& flag, const toml::node& node) {
    if (const auto* text = node.as_string()) {
      if (text->get().contains('\0')) {
        return usage(where(node.source()), options::key_of(flag) + " contains a zero byte",
                     "remove the zero byte");
      }
      return with_path(flag, text->get());
    }
    if (const auto* number = node.as_integer()) return fmt::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return fmt::to_string(number->get());
    const std::string_view form = flag.value;
    return refuse(flag, node,
                  node.is_array() || node.is_table() ? fmt::format("write a string: \"{}\"", form)
                                                     : "write the value in quotes");
  }
  std::string with_path(const options::Flag& flag, std::string value) const {
    const std::size_t start = path_in(flag, value);
    if (start == value.npos) return value;
    const std::string_view path = std::string_view(value).substr(start);
    if (path.starts_with("~/") && !place_.home.empty()) {
      return value.substr(0, start) + place_.home + std::string(path.substr(1));
    }
    if (path.starts_with('/')) return value;
    const auto whole = std::filesystem::path(place_.folder) / path;
    return value.substr(0, start) + whole.lexically_normal().string();
  }

  std::string where(const toml::source_region& region) const {
    return at(place_.label, {region.begin.line, region.begin.column});
  }
  static int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }
  std::unexpected<Error> refuse(const options::Flag& flag, const toml::node& node,
                                std::string fix) const {
    return usage(where(node.source()),
                 fmt::format("{} cannot be {}", options::key_of(flag), type_of(node)),
                 std::move(fix));
  }

  const ConfigPlace& place_;
  // The table's order is alphabetical, so errors are sorted by their keys' positions.
  std::multimap<toml::source_position, Error> errors_;
};

std::size_t offset_of(std::string_view text, const toml::source_position& position) {
  std::size_t start = 0;
  for (toml::source_index line = 1; line < position.line; ++line) {
    const std::size_t end = text.find('\n', start);
    if (end == text.npos) return text.size();
    start = end + 1;
  }
  return std::min(start + (position.column > 0 ? position.column - 1 : 0), text.size());
}

constexpr std::string_view blanks = " \t\r\n";

// Whether a value goes on behind these characters: that of a key, or the next one of an array.
bool expects_value(std::string_view before) {
  const std::size_t last = before.find_last_not_of(blanks);
  if (last == before.npos) return false;
  if (before[last] == '=') return before.find('\n', last) == before.npos;
  if (before[last] == ',') return true;
  const std::size_t line = before.substr(0, last).find_last_of('\n') + 1;
  const bool is_header = before.substr(line, last - line).find_first_not_of(" \t[") == before.npos;
  return before[last] == '[' && !is_header;
}

// Whether the value needs no quotes. An error at such a value is about another mistake, such as a
// key that is set twice.
bool is_plain_value(std::string_view word) {
  return word == "true" || word == "false" ||
         (word.find_first_not_of("0123456789+-_.") == word.npos &&
          std::ranges::count(word, '.') <= 1);
}

// If the value in which the parser stopped is a text without quotes, as in `script = train.py`: the
// text. Empty: the value is not such a text.
std::string_view bare_text(std::string_view text, std::size_t stopped) {
  const std::size_t end = text.substr(0, stopped).find_last_of("=,[\n\"'");
  const std::size_t start = end == text.npos ? 0 : end + 1;
  if (end != text.npos && (text[end] == '"' || text[end] == '\'')) return {};
  const std::size_t first = text.find_first_not_of(" \t", start);
  constexpr std::string_view other_values = "\"'[{#,]}=\r\n";
  if (first == text.npos || other_values.contains(text[first])) return {};
  if (!expects_value(text.substr(0, start))) return {};
  const std::string_view rest = text.substr(first);
  const std::string_view bare = trim(rest.substr(0, rest.find_first_of(",]}#\r\n")));
  return is_plain_value(bare) ? std::string_view() : bare;
}

// Whether the parser stopped in a list, or behind one that has no end.
bool is_in_list(std::string_view text, std::size_t stopped) {
  text = text.substr(0, stopped);
  const std::size_t value = text.rfind('=') + 1;  // npos + 1: 0
  return value != 0 && trim(text.substr(value)).starts_with('[');
}

std::unexpected<Error> malformed(std::string_view text, const ConfigPlace& place,
                                 const toml::parse_error& error) {
  const toml::source_position& begin = error.source().begin;
  const std::string where = at(place.label, {begin.line, begin.column});
  const std::size_t stopped = offset_of(text, begin);
  if (const std::string_view bare = bare_text(text, stopped); !bare.empty()) {
    return usage(where, fmt::format("{} has no quotes", printable(bare)),
                 "write strings in quotes");
  }
  const bool is_list = is_in_list(text, stopped);
  return usage(where, toml_fault(error.description()),
               is_list ? "write lists as [\"a\", \"b\"]" : "see https://toml.io");
}

}  // namespace

std::vector<std::string> notes_on_open_secrets(const ConfigFile& file) {
  constexpr unsigned by_group = 040, by_all = 004;
  std::vector<std::string> notes;
  if ((file.mode & (by_group | by_all)) == 0) return notes;
  const auto note = [&](const ConfigTable& table) {
    for (const ConfigEntry& entry : table) {
      for (const std::string& word : entry.values) {
        const std::size_t equals = word.find('=');
        if (entry.variable.empty() || equals == std::string::npos) continue;
        if (!holds_a_secret(entry.variable, word.substr(equals + 1))) continue;
        notes.push_back(fmt::format(
            "{}:{}: {} is a secret, and the file's mode {:o} lets {} read it: chmod 600 {}, or "
            "export the variable and give -e {} (for pods, --secret-env)",
            file.label, entry.line, printable(entry.variable), file.mode,
            (file.mode & by_all) != 0 ? "others" : "its group", file.label,
            printable(entry.variable)));
      }
    }
  };
  note(file.options);
  for (const auto& [name, table] : file.profiles) note(table);
  return notes;
}

std::string nearest_or_all(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = did_you_mean(word, known)) return fmt::format("did you mean {}?", *near);
  return known.empty() ? "there is none" : "choose one of: " + join(known, ", ");
}

Result<ConfigFile> parse_config(std::string_view text, const ConfigPlace& place) {
  try {
    return Reader(place).file(parse_toml(text, place.label));
  } catch (const toml::parse_error& error) {
    return malformed(text, place, error);
  }
}

}  // namespace toprun::config
