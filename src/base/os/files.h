#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/text/error.h"

namespace toprun {

class Fd;

inline constexpr std::size_t default_file_limit_bytes = 64u << 20;

// The whole content of a regular file, pipe or /proc file. Error: the content is larger than
// `limit_bytes`.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = default_file_limit_bytes);

// Like read_file(), for a path that another user may have created. Links, devices and pipes are
// errors, and opening never blocks.
Result<std::string> read_plain_file(const std::filesystem::path& path,
                                    std::size_t limit_bytes = default_file_limit_bytes);

// Like read_file(), for a file that the caller has opened and checked; `path` names it in errors.
Result<std::string> read_open_file(const Fd& file, const std::filesystem::path& path,
                                   std::size_t limit_bytes);

// Replaces the file's content atomically: a reader sees the old or the new content. If `path` is a
// link, its target is replaced. After an error, the old file is unchanged. A device, a pipe or a
// folder is never replaced; base/os/named_file.h writes to devices and pipes.
Result<void> replace_file(const std::filesystem::path& path, std::string_view content);

}  // namespace toprun
