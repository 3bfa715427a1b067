#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun {

// Whether this path is a pipe, a device or a socket. Such a file can be written only once.
bool is_special(const std::filesystem::path& path);

// Writes to a file that the user named. A regular file is replaced atomically. For a pipe, a
// device, or a file in a folder that is not writable, the function writes directly to the file.
Result<void> write_named_file(const std::filesystem::path& path, std::string_view content);

// Whether write_named_file() can write there, before the content exists. Error: the folder does not
// exist, or this user may not write there.
Result<void> check_named_file(const std::filesystem::path& path);

// Like write_named_file(). After the write, prints a line on stderr, which says that the file was
// written.
Result<void> write_and_say(const std::string& path, std::string_view content);

}  // namespace toprun
