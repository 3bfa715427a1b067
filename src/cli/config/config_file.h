#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::config {

// Parses toprun.toml, in TOML 1.0 (https://toml.io). Keys are long names of options. Profiles are
// named tables of such keys. docs/reference/config.md describes the whole format.

inline constexpr std::size_t max_config_bytes = 1u << 20;
inline constexpr std::size_t max_config_errors = 20;

// The value of one key.
struct ConfigEntry {
  std::string key;  // "nproc-per-node", always with dashes
  // The option's values as on a command line, one for each repetition; an empty value for a switch.
  // An empty list unsets the option, even if tables of lower priority set it.
  std::vector<std::string> values;
  int line = 0;
  // Name of the variable in an entry of `env`, which has one entry per variable
  std::string variable = {};

  bool operator==(const ConfigEntry&) const = default;
};

using ConfigTable = std::vector<ConfigEntry>;

struct ConfigFile {
  std::string label;    // the file's name in messages: "toprun.toml", "/etc/toprun.toml"
  ConfigTable options;  // keys outside of profiles
  std::map<std::string, ConfigTable> profiles;
  std::optional<std::string> default_profile;
  int default_profile_line = 0;
  // The file's permission bits; 0: unknown, or a pipe.
  unsigned mode = 0;
  // Wrong keys, in the order of their lines. If there are more than max_config_errors, the last
  // element says how many other errors there are. If there are errors, only a part of the file's
  // options was read.
  std::vector<Error> errors = {};
};

struct ConfigPlace {
  std::string label;
  std::string folder;  // an absolute path; relative paths in the file start here
  std::string home;    // the folder for paths that begin with ~/; may be empty
};

// Parses a file. Pure. Checks names, types and paths. parse_config() does not check values; they
// are checked later, like values from a command line. Error (exit 2, file:line:column): invalid
// TOML. ConfigFile::errors contains keys that are not options or not allowed in a file, and values
// of the wrong type.
Result<ConfigFile> parse_config(std::string_view text, const ConfigPlace& place);

// Returns one line for each variable of `env` whose name or value shows a secret, if the file's
// mode lets its group or all users read it. Pure.
std::vector<std::string> notes_on_open_secrets(const ConfigFile& file);

// Returns "did you mean X?" if `word` resembles a known word. Else returns a list of all known
// words.
std::string nearest_or_all(std::string_view word, const std::vector<std::string>& known);

}  // namespace toprun::config
