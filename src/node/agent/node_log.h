#pragma once

#include <optional>
#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/plan/options.h"

namespace toprun::agent {

// This node's file for --node-log, which is DIR/HOST.out; nullopt without the option.
std::optional<std::string> node_log_path(const plan::Options& options, const std::string& host);

// Opens the file for appending. Creates its folder if the folder is missing.
Result<Fd> open_node_log(const std::string& path);

}  // namespace toprun::agent
