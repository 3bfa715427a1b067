#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun {

// A pipe or a device, which can only be written once.
bool is_special(const std::filesystem::path& path);

// Writes to a file that the user named. A plain one is replaced in one step; a pipe, a device and a
// file in a folder that takes no new one are written to.
Result<void> write_named_file(const std::filesystem::path& path, std::string_view content);

// The same, and a line on stderr says that it was written.
Result<void> write_and_say(const std::string& path, std::string_view content);

}  // namespace toprun
