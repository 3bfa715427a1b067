#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::config {

// toprun.toml, in TOML 1.0 (https://toml.io): long names of options as keys, and tables of them
// that a name chooses. docs/reference/config.md has the whole format.

inline constexpr std::size_t max_config_bytes = 1u << 20;

// The value of one key.
struct ConfigEntry {
  std::string key;  // "nproc-per-node", always with dashes
  // The option's values as on a command line, one for each time it is given; an empty one for a
  // switch. Without values the option is not given, whatever weaker tables say.
  std::vector<std::string> values;
  int line = 0;
  std::string variable = {};  // of `env`, which has an entry for each of its variables: its name

  bool operator==(const ConfigEntry&) const = default;
};

using ConfigTable = std::vector<ConfigEntry>;

struct ConfigFile {
  std::string label;    // as messages name it: "toprun.toml", "/etc/toprun.toml"
  ConfigTable options;  // for every run
  std::map<std::string, ConfigTable> profiles;
  std::optional<std::string> default_profile;
  int default_profile_line = 0;
};

struct ConfigPlace {
  std::string label;
  std::string folder;  // absolute: relative paths in the file begin there
  std::string home;    // for a path that begins with ~/; may be empty
};

// Pure: names, types and paths are settled here, values are checked as those of a command line.
// Errors (exit 2, file:line:column): TOML's own syntax, a key that is not an option or not one for
// a file, a value of the wrong type.
Result<ConfigFile> parse_config(std::string_view text, const ConfigPlace& place);

// "did you mean X?", or what there is.
std::string nearest_or_all(std::string_view word, const std::vector<std::string>& known);

}  // namespace toprun::config
