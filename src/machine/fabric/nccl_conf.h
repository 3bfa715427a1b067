#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "machine/fabric/settings.h"
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// The variables that NCCL itself reads from files if the environment does not contain them. First
// comes the file that NCCL_CONF_FILE names, else ~/.nccl.conf; the second file is /etc/nccl.conf.
// If both files set a name, the first file has priority (NCCL: src/misc/param.cc).
std::vector<FileSetting> read_nccl_conf(const Sysfs& sysfs, const Environment& environment);

// Parses lines "NAME=VALUE". A line that begins with '#' is a comment; other lines are ignored, as
// in NCCL.
std::vector<FileSetting> parse_nccl_conf(std::string_view text, const std::string& file);

}  // namespace toprun::fabric
