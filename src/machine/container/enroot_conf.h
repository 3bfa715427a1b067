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
inline constexpr int max_enroot_nesting = 16;  // ${A:-${B:-…}}

// A setting and where it stands: "/etc/enroot/enroot.conf:12".
struct EnrootSetting {
  std::string value;
  std::string origin;
};
using EnrootConf = std::map<std::string, EnrootSetting, std::less<>>;

// enroot.conf (doc/configuration.md and config::init of enroot): lines of a name, blanks or "=" and
// a value, which bash evaluates. The first of a name that has a value counts, also over several
// calls. Lines of another form say nothing, as for enroot.
void parse_enroot_conf(std::string_view text, std::string_view label, EnrootConf& conf);

// A value with $NAME, ${NAME}, ${NAME-WORD}, ${NAME:-WORD} and $(id -u) replaced and quotes taken
// away, as bash does. Error: a form that we do not know, such as another command.
Result<std::string> expand_enroot(std::string_view value, const Environment& environment);

// Where its containers lie: ENROOT_DATA_PATH of the environment, of enroot.conf.d/*.conf by name,
// of enroot.conf; else $XDG_DATA_HOME/enroot, else ~/.local/share/enroot. What cannot be expanded
// counts as not said. Files are read below `root`.
Place enroot_data_path(const Environment& environment, const std::filesystem::path& root = "/");

}  // namespace toprun::container
