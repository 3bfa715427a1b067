#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "cli/config/config_file.h"
#include "cli/options/values.h"

namespace toprun::config {

inline constexpr std::string_view config_name = "toprun.toml";
inline constexpr std::string_view system_config = "/etc/toprun.toml";

// A path at which find_config() looks for a configuration file.
struct ConfigPlaceLooked {
  enum class State { absent, read, ignored };
  std::string_view kind;  // "chosen", "project", "user", "system"
  std::string path;       // absolute; empty: there is no such path
  State state = State::absent;
  std::string why = {};  // why the file is ignored
};

// The contents of all configuration files, which do not depend on the command line.
struct Config {
  std::vector<ConfigPlaceLooked> looked;  // highest priority first
  std::vector<ConfigFile> files;          // the files that were read, in the same order
};

// Finds and reads the configuration files. If `chosen` (--config-file) is given, only this file is
// read, and its owner is not checked. Otherwise at most three files are read. The first file is the
// nearest toprun.toml in the working directory or in a folder above it, on the same file system.
// The other files are $XDG_CONFIG_HOME/toprun/toprun.toml (or the same path below ~/.config), and
// /etc/toprun.toml. A file that another user could have written (base/os/trust.h) is ignored,
// because a configuration names programs to run. An unreadable file is also ignored, because
// otherwise a user with write access to a parent folder could block all runs in its subfolders.
// Errors (exit 2): errors of parse_config(); the chosen file cannot be read; a file is too large.
Result<Config> find_config(const std::optional<options::Argument>& chosen,
                           const Environment& environment);

// If files have wrong keys, returns the last error (exit 2). Prints all errors before it on stderr.
// So the caller prints the returned error as the last line.
Result<void> refuse_wrong_keys(const Config& config);

}  // namespace toprun::config
