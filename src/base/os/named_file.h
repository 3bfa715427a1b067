#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun {

// Whether this is a pipe, a device or a socket, which can only be written once.
bool is_special(const std::filesystem::path& path);

// Writes to a file that the user named. A regular file is replaced atomically. A pipe, a device, or
// a file in a folder that is not writable is written to directly.
Result<void> write_named_file(const std::filesystem::path& path, std::string_view content);

// Like write_named_file(); then prints a line on stderr that the file was written.
Result<void> write_and_say(const std::string& path, std::string_view content);

}  // namespace toprun
