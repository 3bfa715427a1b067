#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "machine/fabric/settings.h"
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// The variables that NCCL itself reads from files where the environment does not have them: the
// file that NCCL_CONF_FILE names, else ~/.nccl.conf, then /etc/nccl.conf; of a name given twice the
// first file's counts (NCCL: src/misc/param.cc).
std::vector<FileSetting> read_nccl_conf(const Sysfs& sysfs, const Environment& environment);

// Lines "NAME=VALUE"; what follows '#' at a line's beginning is a comment, other lines are passed
// over as NCCL does.
std::vector<FileSetting> parse_nccl_conf(std::string_view text, const std::string& file);

}  // namespace toprun::fabric
