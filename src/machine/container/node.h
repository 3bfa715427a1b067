#pragma once

#include <filesystem>
#include <string>

#include "machine/container/runtime.h"

namespace toprun::container {

// This node: devices and CDI files (cdi.md of the Container Device Interface) are looked for below
// `root`; user, group and limits are this process's.
Node find_node(std::string host, const std::filesystem::path& root = "/");

}  // namespace toprun::container
