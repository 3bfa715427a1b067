#pragma once

#include <filesystem>
#include <string>

#include "machine/container/runtime.h"

namespace toprun::container {

// Detects the properties of this node. Devices and CDI files (cdi.md in the Container Device
// Interface) are searched below `root`; user, group and limits are this process's.
Node find_node(std::string host, const std::filesystem::path& root = "/");

}  // namespace toprun::container
