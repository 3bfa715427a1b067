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

// One place of the search for files.
struct ConfigPlaceLooked {
  enum class State { absent, read, ignored };
  std::string_view kind;  // "chosen", "project", "user", "system"
  std::string path;       // absolute; empty: there is none that could be looked at
  State state = State::absent;
  std::string why = {};  // it is ignored
};

// The contents of all files, before the command line is known.
struct Config {
  std::vector<ConfigPlaceLooked> looked;  // the strongest first
  std::vector<ConfigFile> files;          // those that were read, in the same order
};

// `chosen`: --config-file; no other is read then, and whose it is does not matter. Else the
// nearest toprun.toml from the working directory upwards on its file system,
// $XDG_CONFIG_HOME/toprun/toprun.toml (else below ~/.config), and the system's. One that another
// user could have written (base/os/trust.h) is ignored, because a configuration names programs to
// run; so is one that cannot be read, or a user who may write to a folder above could stop all runs
// below. Errors (exit 2): parse_config()'s; a chosen file cannot be read; one is too large.
Result<Config> find_config(const std::optional<options::Given>& chosen,
                           const Environment& environment);

}  // namespace toprun::config
