#pragma once

#include <cstddef>
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

// Checks whether write_named_file() will be able to write to this path, before the content exists.
// Error: the folder does not exist, or this user may not write there.
Result<void> check_named_file(const std::filesystem::path& path);

// Like write_named_file(), but then prints a line on stderr that says that the file was written.
Result<void> write_and_say(const std::string& path, std::string_view content);

class Fd;

inline constexpr std::size_t default_file_limit_bytes = 64u << 20;

// Returns the whole content of a regular file, pipe or /proc file. Error: the content is larger
// than `limit_bytes`.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = default_file_limit_bytes);

// Like read_file(), for a path that another user may have created. Error: the path is a link, a
// device or a pipe. Opening the path never blocks.
Result<std::string> read_plain_file(const std::filesystem::path& path,
                                    std::size_t limit_bytes = default_file_limit_bytes);

// Like read_file(), for a file that the caller has opened and checked; `path` is the file's name in
// errors.
Result<std::string> read_open_file(const Fd& file, const std::filesystem::path& path,
                                   std::size_t limit_bytes);

// Replaces the file's content atomically: a reader sees the old or the new content. If `path` is a
// link, its target is replaced. After an error, the old file is unchanged. A device, a pipe or a
// folder is never replaced; write_named_file() writes to devices and pipes.
Result<void> replace_file(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
