#pragma once

#include <string>
#include <string_view>

namespace toprun::report {

// The file of a node's output in the folder of --node-log: DIR/HOST.out.
std::string node_log_path(std::string_view folder, std::string host);

}  // namespace toprun::report
