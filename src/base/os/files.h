#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/text/error.h"

namespace toprun {

class Fd;

inline constexpr std::size_t default_file_limit_bytes = 64u << 20;

// The whole content of a regular file, pipe or /proc file; an error above `limit_bytes`.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = default_file_limit_bytes);

// As read_file(), for a path that another user may have created: links, devices and pipes are
// errors, and opening never blocks.
Result<std::string> read_plain_file(const std::filesystem::path& path,
                                    std::size_t limit_bytes = default_file_limit_bytes);

// As read_file(), for a file that is open already and was checked; `path` names it in errors.
Result<std::string> read_open_file(const Fd& file, const std::filesystem::path& path,
                                   std::size_t limit_bytes);

// Replaces the file's content atomically: a reader sees either the old or the new content. A link
// stays and its target is replaced. Error: nothing was changed; a device, a pipe and a folder are
// never replaced (base/os/named_file.h writes to the former).
Result<void> replace_file(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
