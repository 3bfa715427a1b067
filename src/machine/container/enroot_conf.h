#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/places.h"

namespace toprun::container {

inline constexpr std::size_t max_enroot_conf_bytes = 1u << 20;
inline constexpr std::size_t max_enroot_conf_files = 1000;
inline constexpr int max_enroot_nesting = 16;  // the depth of ${A:-${B:-…}}

// A setting and its position: "/etc/enroot/enroot.conf:12".
struct EnrootSetting {
  std::string value;
  std::string origin;
};
using EnrootConf = std::map<std::string, EnrootSetting, std::less<>>;

// Parses enroot.conf (doc/configuration.md and config::init in enroot). A line consists of a name,
// blanks or "=", and a value, which bash evaluates. If several lines set the same name, in one file
// or in several, the first line counts. Lines of another form are ignored, as by enroot.
void parse_enroot_conf(std::string_view text, std::string_view label, EnrootConf& conf);

// Replaces $NAME, ${NAME}, ${NAME-WORD}, ${NAME:-WORD} and $(id -u) in a value and removes quotes,
// like bash. Error: the value has an unsupported form, such as a command other than `id -u`.
Result<std::string> expand_enroot(std::string_view value, const Environment& environment);

// Returns the folder with enroot's containers. The folder is ENROOT_DATA_PATH from the environment,
// from enroot.conf.d/*.conf in the order of their names, or from enroot.conf. If none of these sets
// ENROOT_DATA_PATH, the folder is $XDG_DATA_HOME/enroot, else ~/.local/share/enroot. A value of
// ENROOT_DATA_PATH that expand_enroot() cannot expand is ignored. Files are read below `root`.
SourcedPath enroot_data_path(const Environment& environment,
                             const std::filesystem::path& root = "/");

}  // namespace toprun::container
